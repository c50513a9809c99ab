// The theme has controls that the keyboard cannot reach and screen readers cannot name. This script
// gives them a role, a name, a place in the tab order, and the keys that users expect for the role.
"use strict";

const ENTRIES = "a[href], button, input:not([type=hidden]), select";
const DIRECTIONS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function nameOf(item) {
  const words = [...item.childNodes].filter((part) => !part.matches?.(".material-symbols-outlined"));
  return words.map((part) => part.textContent).join(" ").trim().replace(/\s+/g, " ");
}

// A control that shows only an icon is named after the icon.
function named(control) {
  if (control.hasAttribute("aria-label") || control.title || nameOf(control)) return;
  const icon = control.querySelector(".material-symbols-outlined")?.textContent.trim();
  const known = { more_horiz: "More", more_vert: "More", settings: "Home", arrow_back: "Back" };
  if (icon) control.setAttribute("aria-label", known[icon] || icon.replaceAll("_", " "));
}

function press(event) {
  if (event.target !== event.currentTarget || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  event.currentTarget.click();
}

function reachable(item, name) {
  if (!item.hasAttribute("role")) item.setAttribute("role", "button");
  item.tabIndex = 0;
  if (name && !item.getAttribute("aria-label")) item.setAttribute("aria-label", name);
  item.addEventListener("keydown", press);
}

// A part of the page becomes visible a few frames after it is opened.
function focusOnceShown(control, frames = 30) {
  control.focus();
  if (document.activeElement !== control && frames) requestAnimationFrame(() => focusOnceShown(control, frames - 1));
}

// Set up the menu of the tabs that do not fit: it closes when a tab is clicked or the focus leaves it. Returns its button.
function menuOfTabs(panel) {
  const opener = panel.previousElementSibling;
  panel.setAttribute("role", "tablist");
  for (const part of [panel, opener]) part.setAttribute("aria-label", "More tabs");
  panel.parentElement.addEventListener("focusout", (event) => {
    if (panel.offsetParent && !panel.parentElement.contains(event.relatedTarget)) opener.click();
  });
  panel.addEventListener("click", (event) => {
    if (!event.detail) return; // a key: the menu stays open, so that arrow keys reach the other tabs
    opener.focus();
    opener.click();
  });
  return opener;
}

// The tabs of a form: arrow keys move between them, and the selected one is marked as such.
function tabbed(list) {
  const tabs = [...list.querySelectorAll(":scope > a")].filter((tab) => tab.hasAttribute("x-on:click"));
  if (!tabs.length || tabs.length < list.querySelectorAll(":scope > a").length) return;
  list.setAttribute("role", "tablist");
  const more = list.id === "tabs-items" ? document.getElementById("tabs-dropdown") : null;
  const opener = more && menuOfTabs(more);
  const mark = () => {
    for (const tab of tabs) {
      const chosen = tab.classList.contains("active");
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    if (!tabs.some((tab) => tab.tabIndex === 0)) tabs[0].tabIndex = 0;
  };
  for (const tab of tabs) {
    tab.setAttribute("role", "tab");
    tab.addEventListener("keydown", press);
    tab.addEventListener("keydown", (event) => {
      const step = DIRECTIONS[event.key];
      if (!step) return;
      event.preventDefault();
      const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
      next.click();
      if (!next.offsetParent) opener?.click();
      focusOnceShown(next);
    });
  }
  const observer = new MutationObserver(mark);
  for (const part of [list, more]) if (part) observer.observe(part, { subtree: true, attributeFilter: ["class"] });
  mark();
}

// A panel over the page: the focus moves into it, stays there while it is open, and then returns to where it was.
function modal(panel, name) {
  panel.setAttribute("role", "dialog");
  panel.setAttribute("aria-modal", "true");
  panel.setAttribute("aria-label", name);
  const shown = (controls) => [...panel.querySelectorAll(controls)].filter((control) => control.offsetParent);
  panel.addEventListener("keydown", (event) => {
    const known = shown(`${ENTRIES}, [tabindex="0"]`); // a part that scrolls has a place in the tab order, too
    if (event.key !== "Tab" || !known.length) return;
    const edge = event.shiftKey ? known[0] : known.at(-1);
    if (document.activeElement !== edge) return;
    event.preventDefault();
    (event.shiftKey ? known.at(-1) : known[0]).focus();
  });
  let open = false, opener;
  new MutationObserver(() => {
    if ((panel.style.display !== "none") === open) return;
    open = !open;
    if (open) opener = document.activeElement;
    (open ? shown(ENTRIES)[0] : opener)?.focus();
  }).observe(panel, { attributeFilter: ["style"] });
}

// In a narrow window, the menu covers the page: opening it moves the focus into it, and Escape closes it.
function menu(opener, panel) {
  const open = () => opener.getAttribute("aria-expanded") === "true";
  opener.addEventListener("click", () => setTimeout(() => { if (open()) panel.querySelector("a[href]")?.focus(); }));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !open()) return;
    opener.click();
    opener.focus();
  });
}

document.addEventListener("DOMContentLoaded", () => {
  for (const list of document.querySelectorAll("nav")) tabbed(list);
  const controls = "a:not([href])[x-on\\:click], span[x-on\\:click], div[x-on\\:click].cursor-pointer";
  for (const item of document.querySelectorAll(controls)) {
    if (item.getAttribute("role") !== "tab") reachable(item, nameOf(item) || "Menu");
  }
  for (const control of document.querySelectorAll("a, button")) named(control);
  for (const icon of document.querySelectorAll(".material-symbols-outlined:not([role], button)")) {
    icon.setAttribute("aria-hidden", "true");
  }
  const opener = document.querySelector(".menu-button.narrow-only");
  if (opener) menu(opener, document.getElementById("nav-sidebar"));
  const panels = { "#changelist-filter": "Filters", "[x-data^=searchCommand]": "Search" };
  for (const [place, name] of Object.entries(panels)) {
    const panel = document.querySelector(place);
    if (panel) modal(panel, name);
  }
});

// Another script creates the searchable selects, and names each one only after its value. Add the label to the name.
function labelSelects() {
  for (const field of document.querySelectorAll(".select2-selection")) {
    const select = field.closest(".select2")?.previousElementSibling;
    const label = select?.labels?.[0];
    if (!label) continue;
    label.id ||= `${select.id}-label`;
    const names = (field.getAttribute("aria-labelledby") ?? "").split(" ");
    if (!names.includes(label.id)) field.setAttribute("aria-labelledby", [label.id, ...names].join(" "));
  }
}

// The other script uses a timer, too. This timer is set later, so it runs later.
addEventListener("load", () => setTimeout(labelSelects));
document.addEventListener("formset:added", () => setTimeout(labelSelects));
