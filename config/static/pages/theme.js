// Runs before anything is painted. Sets the chosen colors, and hides the page until its scripts
// have arranged it. If the scripts fail, the page is shown as it is.
"use strict";

{
  const root = document.documentElement;
  let chosen = "auto";
  try {
    chosen = JSON.parse(localStorage.getItem("_x_adminTheme")) || chosen;
  } catch {
    // Local storage is disabled.
  }
  const dark = chosen === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
  root.classList.toggle("dark", dark);
  root.setAttribute("x-cloak", "");
  addEventListener("load", () => root.removeAttribute("x-cloak"));
}
