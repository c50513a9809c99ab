// Runs before anything is painted. Sets the chosen colors, and hides the parts that scripts open,
// such as menus and tabs, until the scripts run. If they fail, these parts are shown as they are.
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
  root.toggleAttribute("data-starting", true);
  const started = () => root.removeAttribute("data-starting");
  document.addEventListener("alpine:initialized", started);
  addEventListener("load", started);
}
