// Search a locale's texts, or show only the missing ones. Hidden fields are saved, too.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const filter = document.getElementById("texts-filter");
  const fields = [...document.querySelectorAll("[data-text-name]")];
  if (!filter || !fields.length) return;
  const search = document.getElementById("texts-search");
  const missing = document.getElementById("texts-missing");
  const count = document.getElementById("texts-count");

  const rowOf = (field) => field.closest(".field-row") ?? field.parentElement;

  function show() {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const field of fields) {
      const row = rowOf(field);
      const words = `${field.dataset.textName} ${field.value} ${field.placeholder} ${row.textContent}`.toLowerCase();
      const lacking = field.hasAttribute("data-missing") && !field.value;
      row.hidden = !words.includes(wanted) || (missing.checked && !lacking);
      row.classList.toggle("filtered-out", row.hidden);
      shown += row.hidden ? 0 : 1;
    }
    for (const group of document.querySelectorAll("fieldset.module")) {
      const inside = [...group.querySelectorAll("[data-text-name]")];
      group.classList.toggle("filtered-out", inside.length > 0 && inside.every((field) => rowOf(field).hidden));
    }
    count.textContent = wanted || missing.checked ? `${shown} of ${fields.length} texts` : "";
  }

  search.addEventListener("input", show);
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  missing.addEventListener("change", show);
  filter.hidden = false;
});
