// Follow-up prompts: show only the texts of the chosen type, and keep their order. A hidden text is sent empty; choosing
// its type again restores it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const group = document.getElementById("follow_up_prompts-group");
  if (!group) return;
  const PAIRS = { button: ["button_title", "button_message"], link: ["link_text", "link_src"] };
  const typed = new WeakMap();

  function fit(select) {
    const prefix = select.name.replace(/kind$/, "");
    for (const [kind, names] of Object.entries(PAIRS)) {
      for (const name of names) {
        const field = group.querySelector(`[name="${prefix}${name}"]`);
        if (!field) continue;
        const fits = kind === select.value;
        if (!fits && field.value) { typed.set(field, field.value); field.value = ""; }
        if (fits && !field.value && typed.has(field)) field.value = typed.get(field);
        field.classList.toggle("filtered-out", !fits);
      }
    }
  }

  // A row that the server rejected because it has texts of both types stays as it is.
  function begin(select) {
    const prefix = select.name.replace(/kind$/, "");
    const filled = (kind) => PAIRS[kind].some((name) => group.querySelector(`[name="${prefix}${name}"]`)?.value);
    if (!filled("button") || !filled("link")) fit(select);
  }

  group.addEventListener("change", (event) => { if (/-kind$/.test(event.target.name ?? "")) fit(event.target); });
  document.addEventListener("formset:added", (event) => {
    for (const select of event.target.querySelectorAll('select[name$="-kind"]')) begin(select);
  });
  for (const select of group.querySelectorAll('select[name$="-kind"]')) begin(select);

  // The order: drag a row by its handle, or press Alt with an arrow. The numbers are what is saved.
  const rows = () => [...group.querySelectorAll("tbody.form-group:not(.empty-form)")].filter((row) => rankOf(row));
  const rankOf = (row) => row.querySelector('[name$="-rank"]');
  const status = Object.assign(document.createElement("p"), { className: "hint order-status" });
  status.setAttribute("role", "status");
  let moving = null;

  // The page's own numbers in the new order: rows of other pages keep theirs.
  function number() {
    const ranks = rows().map((row) => Number(rankOf(row).value) || 0).sort((a, b) => a - b);
    let last = -1;
    rows().forEach((row, place) => {
      last = Math.max(ranks[place], last + 1);
      const field = rankOf(row);
      if (field.value === String(last)) return;
      field.value = last;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }

  function moved(row) {
    number();
    status.textContent = `Moved to place ${rows().indexOf(row) + 1} of ${rows().length}. Save to keep the order.`;
  }

  function step(row, down) {
    const all = rows(), other = all[all.indexOf(row) + (down ? 1 : -1)];
    if (!other) return;
    const held = document.activeElement;
    if (down) other.after(row); else other.before(row);
    held?.focus();
    moved(row);
  }

  function offer(row) {
    const rank = rankOf(row);
    if (!rank || row.querySelector(".mover")) return;
    const handle = Object.assign(document.createElement("button"), { type: "button", className: "mover", draggable: true, textContent: "⠿", title: "Drag, or press Alt with an arrow key" });
    handle.setAttribute("aria-label", `Move ${rank.name.replace(/-rank$/, "").replace(/.*-/, "row ")}: drag, or press Alt with an arrow key`);
    handle.addEventListener("dragstart", (event) => {
      moving = row;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setDragImage(row, 0, 0);
    });
    handle.addEventListener("dragend", () => { if (moving) moved(moving); moving = null; });
    rank.parentElement.classList.add("movable");
    rank.before(handle);
  }

  group.addEventListener("dragover", (event) => {
    const over = event.target.closest("tbody.form-group:not(.empty-form)");
    if (!moving || !over || over === moving) return;
    event.preventDefault();
    const { top, height } = over.getBoundingClientRect();
    if (event.clientY > top + height / 2) over.after(moving); else over.before(moving);
  });
  group.addEventListener("drop", (event) => { if (moving) event.preventDefault(); });
  group.addEventListener("keydown", (event) => {
    const row = event.target.closest("tbody.form-group:not(.empty-form)");
    if (!row || !event.altKey || !/^Arrow(Up|Down)$/.test(event.key) || event.target.tagName === "SELECT") return;
    event.preventDefault();
    step(row, event.key === "ArrowDown");
  });
  document.addEventListener("formset:added", (event) => { if (group.contains(event.target)) offer(event.target.closest("tbody") ?? event.target); });
  rows().forEach(offer);
  group.querySelector(".formset-wrapper")?.after(status);
});
