// Follow-up prompts: show only the texts of the chosen type, and let the user reorder the rows. The texts of the other
// type are hidden and submitted empty. They come back if the user chooses that type again.
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

  // The order: the form saves the numbers in the rows, not the rows' positions.
  const rows = () => [...group.querySelectorAll("tbody.form-group:not(.empty-form)")].filter((row) => rankOf(row));
  const rankOf = (row) => row.querySelector('[name$="-rank"]');

  // Assign this page's numbers to its rows in the new order, so that rows on other pages keep theirs.
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

  const { handle } = reorderable(group.querySelector(".formset-wrapper") ?? group, { one: "tbody.form-group:not(.empty-form)", rows, moved: number });

  function offer(row) {
    const rank = rankOf(row);
    if (!rank || row.querySelector(".mover")) return;
    rank.parentElement.classList.add("movable");
    rank.before(handle(row, rank.name.replace(/-rank$/, "").replace(/.*-/, "row ")));
  }

  document.addEventListener("formset:added", (event) => { if (group.contains(event.target)) offer(event.target.closest("tbody") ?? event.target); });
  rows().forEach(offer);
});
