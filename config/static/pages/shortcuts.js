// Single-key shortcuts: a key focuses or clicks the control whose data-key it matches.
// They work only outside fields. "?" lists them, and the choice to switch them off is remembered. A key that is held
// down acts once: on the next page, its repeats could undo what it has done.
"use strict";

const dialog = document.getElementById("shortcuts");
const enabled = document.getElementById("shortcuts-on");
const opener = document.getElementById("shortcuts-open");
const OFF = "shortcuts-off";
const FIELDS = "input, textarea, select, [contenteditable]";

function stored(change) {
  try {
    return change(localStorage);
  } catch {
    return null; // local storage is disabled: the choice lasts as long as the page
  }
}

function press(key) {
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!target) return false;
  target.closest("details")?.setAttribute("open", "");
  if (target.matches("textarea, select")) target.focus();
  else (target.querySelector("button") ?? target).click();
  return true;
}

enabled.checked = !stored((kept) => kept.getItem(OFF));
enabled.addEventListener("change", () =>
  stored((kept) => (enabled.checked ? kept.removeItem(OFF) : kept.setItem(OFF, "1"))),
);
opener.hidden = false;
opener.addEventListener("click", () => dialog.showModal());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (event.target.closest(FIELDS) || dialog.open || !enabled.checked) return;
  if (event.key === "?") {
    event.preventDefault();
    dialog.showModal();
  } else if (press(event.key)) {
    event.preventDefault();
  }
});
