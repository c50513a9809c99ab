// Text typed into a conversation's details is kept in the browser until it is saved or discarded.
"use strict";

(() => {
  const form = document.getElementById("details"), bar = document.getElementById("details-unsaved");
  if (!form) return;
  const { agent, thread } = document.getElementById("thread").dataset;
  const NAME = `details-${agent}-${thread}`;
  const fields = [...form.querySelectorAll("input[type=text], textarea")];
  const saved = (field) => form.elements[`initial-${field.name}`].value;
  const bases = {}; // by field name: the text that was saved when the agent began to type

  function read() {
    try {
      return JSON.parse(localStorage.getItem(NAME)) ?? {};
    } catch {
      return {};
    }
  }

  function keep() {
    const typed = {};
    for (const field of fields) {
      if (field.value === saved(field)) delete bases[field.name];
      else typed[field.name] = { text: field.value, base: (bases[field.name] ??= saved(field)) };
    }
    bar.hidden = !Object.keys(typed).length;
    try {
      if (bar.hidden) localStorage.removeItem(NAME);
      else localStorage.setItem(NAME, JSON.stringify(typed));
    } catch {
      // Local storage is disabled or full: the text exists only in the form.
    }
  }

  function restore(field, { text, base }) {
    if (text === saved(field)) return;
    field.value = text;
    bases[field.name] = base;
    if (base === saved(field) || field.ariaInvalid === "true") return; // an error already shows the saved text
    const words = saved(field) ? `The saved text is now: ${saved(field)}` : "The saved text is now empty.";
    const note = Object.assign(document.createElement("p"), { className: "warning words", textContent: words });
    field.after(note);
  }

  const kept = read();
  for (const field of fields) if (field.name in kept) restore(field, kept[field.name]);
  keep();
  form.addEventListener("input", keep);
  form.addEventListener("change", keep); // sent by forms.js when it restores the form
  bar.querySelector("button").addEventListener("click", () => {
    for (const field of fields) field.value = saved(field);
    for (const note of form.querySelectorAll(".warning.words")) note.remove();
    keep();
  });
})();
