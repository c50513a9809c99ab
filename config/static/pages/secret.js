// A secret is shown only once: if the browser restores this page from its cache, redirect to a page without the secret.
"use strict";

const shown = document.getElementById("secret");
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.replace(shown.dataset.back);
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      document.getElementById("copied").textContent = "Copied";
    } catch {
      document.getElementById("copied").textContent = "Press Ctrl+C to copy";
    }
  });
}
