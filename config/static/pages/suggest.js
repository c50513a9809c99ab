// Suggestions while typing: "/" inserts a canned reply into an answer, "@" a colleague's name into a note. A suggestion is
// chosen with the arrow keys and Enter or Tab, or with a click; Escape closes the list.
"use strict";

(() => {
  const MOST = 8;

  function suggest(field, sign, source) {
    if (!field || !source) return;
    const all = [...source.querySelectorAll("[data-name]")].map((item) => item.dataset);
    const box = document.createElement("ul");
    let found = [], chosen = 0, start = 0;
    box.id = `${field.id}-suggestions`;
    box.className = "suggestions";
    box.hidden = true;
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", "Suggestions");
    field.before(box);
    for (const [name, value] of [["aria-autocomplete", "list"], ["aria-controls", box.id]]) field.setAttribute(name, value);

    function close() {
      box.hidden = true;
      field.removeAttribute("aria-activedescendant");
    }

    function insert(text, from, to) {
      field.setRangeText(text, from, to, "end");
      close();
      field.focus();
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }

    function draw() {
      box.replaceChildren(...found.map((item, index) => {
        const option = document.createElement("li");
        option.id = `${box.id}-${index}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", String(index === chosen));
        option.textContent = `${sign}${item.name}`;
        if (sign === "/") option.append(" ", Object.assign(document.createElement("span"), { className: "hint", textContent: item.text.slice(0, 60) }));
        option.addEventListener("pointerdown", (event) => {
          event.preventDefault(); // keep the focus in the field
          insert(item.text, start, field.selectionStart);
        });
        return option;
      }));
      box.hidden = false;
      field.setAttribute("aria-activedescendant", `${box.id}-${chosen}`);
    }

    field.addEventListener("input", () => {
      const before = field.value.slice(0, field.selectionStart);
      const at = Math.max(before.lastIndexOf(sign), 0), typed = before.slice(at + 1).toLowerCase();
      const begins = before[at] === sign && (at === 0 || /\s/.test(before[at - 1])) && !/\n/.test(typed);
      const rank = (item) => item.name.toLowerCase().indexOf(typed);
      found = begins ? all.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b)).slice(0, MOST) : [];
      [chosen, start] = [0, at];
      if (found.length) draw();
      else close();
    });
    field.addEventListener("keydown", (event) => {
      if (box.hidden || event.ctrlKey || event.metaKey || event.isComposing) return;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) chosen = (chosen + step + found.length) % found.length;
      else if (event.key === "Enter" || event.key === "Tab") return event.preventDefault(), insert(found[chosen].text, start, field.selectionStart);
      else if (event.key === "Escape") return close();
      else return;
      event.preventDefault();
      draw();
    });
    field.addEventListener("blur", close);
    source.addEventListener("click", (event) => {
      const item = event.target.closest("a[data-text]");
      if (!item) return;
      event.preventDefault();
      source.closest("details")?.removeAttribute("open");
      insert(item.dataset.text, field.selectionStart, field.selectionEnd);
    });
  }

  suggest(document.getElementById("reply-text"), "/", document.getElementById("canned"));
  suggest(document.getElementById("note-text"), "@", document.getElementById("colleagues"));
})();
