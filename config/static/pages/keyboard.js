// The admin has links without a URL, which Tab does not reach: make them buttons.
"use strict";

function reachable(root) {
  for (const item of root.querySelectorAll("a:not([href])[x-on\\:click], span[x-on\\:click]")) {
    item.setAttribute("role", "button");
    item.tabIndex = 0;
    if (!item.getAttribute("aria-label") && item.querySelector(".material-symbols-outlined")) {
      const text = item.textContent.trim().replace(/\s+/g, " ").replace(/\b[a-z]+_[a-z_]+\b/g, "").trim();
      item.setAttribute("aria-label", text || "Toggle menu");
    }
    item.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        item.click();
      }
    });
  }
}

document.addEventListener("DOMContentLoaded", () => reachable(document));
