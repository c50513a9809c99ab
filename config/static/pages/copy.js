// Buttons that copy the text of an element, exactly as it is.
"use strict";

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    const status = document.getElementById("copied");
    try {
      await navigator.clipboard.writeText(source.textContent);
      status.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      status.textContent = "Press Ctrl+C to copy";
    }
  });
}
