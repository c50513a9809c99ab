// Let the user reorder rows by dragging a row's handle, or by pressing Alt with an arrow key.
"use strict";

// `one` is the selector for a row in `area`, `rows` returns the rows that have an order, and `moved` is called with
// each row that was moved. Returns two functions: `handle` creates a row's handle, and `step` moves a row up or down
// by one.
function reorderable(area, { one, rows, moved }) {
  const status = Object.assign(document.createElement("p"), { className: "hint order-status" });
  status.setAttribute("role", "status");
  area.after(status);
  let dragged = null, from = -1, follower = null; // where the row was dragged from

  function tell(row) {
    moved(row);
    status.textContent = `Moved to place ${rows().indexOf(row) + 1} of ${rows().length}. Save to keep the order.`;
  }

  function step(row, down) {
    const all = rows(), other = all[all.indexOf(row) + (down ? 1 : -1)];
    if (!other) return;
    const held = document.activeElement;
    if (down) other.after(row); else other.before(row);
    held?.focus();
    tell(row);
  }

  function handle(row, words) {
    const made = Object.assign(document.createElement("button"), { type: "button", className: "mover", draggable: true, textContent: "⠿", title: "Drag, or press Alt with an arrow key" });
    made.setAttribute("aria-label", `Move ${words}: drag, or press Alt with an arrow key`);
    made.addEventListener("dragstart", (event) => {
      [dragged, from, follower] = [row, rows().indexOf(row), row.nextSibling];
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setDragImage(row, 0, 0);
    });
    made.addEventListener("dragend", (event) => {
      if (event.dataTransfer.dropEffect === "none") row.parentNode.insertBefore(row, follower); // Escape, or dropped elsewhere
      if (dragged && rows().indexOf(dragged) !== from) tell(dragged);
      dragged = null;
    });
    return made;
  }

  area.addEventListener("dragover", (event) => {
    if (!dragged) return;
    event.preventDefault();
    const over = event.target.closest(one);
    if (!over || over === dragged) return;
    const { top, height } = over.getBoundingClientRect();
    if (event.clientY > top + height / 2) over.after(dragged); else over.before(dragged);
  });
  area.addEventListener("drop", (event) => { if (dragged) event.preventDefault(); });
  area.addEventListener("keydown", (event) => {
    const row = event.target.closest(one);
    if (!row || !event.altKey || !/^Arrow(Up|Down)$/.test(event.key) || event.target.tagName === "SELECT") return;
    event.preventDefault();
    step(row, event.key === "ArrowDown");
  });
  return { handle, step };
}
