// The live inbox: it polls for changes and replaces the rows, the tabs, the links to other pages and the menu's badge.
// While one of them is focused or a row is selected, it replaces them only if the user clicks the
// button that shows how many rows are new.
"use strict";

const tabs = document.getElementById("inbox-tabs");
const show = document.getElementById("inbox-show");
const said = document.getElementById("inbox-said"); // for screen readers
const lost = document.getElementById("inbox-lost");
const all = document.getElementById("action-toggle");
const ENTRY = "#nav-sidebar-apps a.active"; // the menu's link to the inbox, with the number of waiting visitors
const EVERY = 2000, HIDDEN = 15000, LATEST = 30000;
let known = rowsOf(document), latest = known, tag = "", wait = EVERY, stale = false, timer;

function rowsOf(page) {
  return page.getElementById("inbox-tabs")?.dataset.rows?.split(" ").filter(Boolean) ?? [];
}

const table = () => document.getElementById("result_list");
const busy = () =>
  Boolean(document.activeElement?.closest("#result_list tbody, #inbox-tabs, nav.older")) ||
  Boolean(document.querySelector("#result_list input.action-select:checked"));

function replace(page) {
  const rows = page.getElementById("result_list");
  if (!rows || !table()) return location.reload();
  document.getElementById("inbox-tabs").replaceChildren(...page.getElementById("inbox-tabs").children);
  for (const body of table().querySelectorAll("tbody")) body.remove();
  table().append(...rows.querySelectorAll("tbody"));
  const footer = document.querySelector("nav.older");
  const newFooter = page.querySelector("nav.older");
  if (footer && newFooter) footer.replaceWith(newFooter);
  const entry = document.querySelector(ENTRY), newEntry = page.querySelector(ENTRY);
  if (entry && newEntry) entry.replaceChildren(...newEntry.children);
  count();
}

// Django's script knows only the checkboxes that were on the page when it was loaded.
function count() {
  const boxes = [...table().querySelectorAll("input.action-select")];
  const selected = boxes.filter((box) => box.checked).length;
  for (const box of boxes) box.closest("tr").classList.toggle("selected", box.checked);
  if (all) all.checked = selected > 0 && selected === boxes.length;
  const counter = document.querySelector(".action-counter");
  if (counter) counter.textContent = `${selected} of ${boxes.length} selected`;
}

// Show the current list. If a row has been focused or selected in the meantime, do so only if the user asked for it.
async function refresh(asked) {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (answer.redirected) return location.reload();
  if (!answer.ok) throw new Error(answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  latest = rowsOf(page);
  if (!asked && busy()) return offer();
  replace(page);
  const added = addedTo(latest);
  if (added) said.textContent = `${added} new or changed`;
  known = latest;
  stale = false;
  show.hidden = true;
  show.textContent = "";
}

const addedTo = (rows) => rows.filter((row) => !known.includes(row)).length;

function offer() {
  const added = addedTo(latest), words = `${added} new, show`;
  show.hidden = !added; // without new rows, there is nothing to offer
  if (added && show.textContent !== words) show.textContent = words; // screen readers announce it each time it is set
}

async function poll(asked = false) {
  clearTimeout(timer);
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const answer = await fetch(tabs.dataset.news, { headers, cache: "no-store" });
    if (answer.redirected) return location.reload();
    if (answer.ok) {
      const fresh = !tag;
      tag = answer.headers.get("ETag");
      latest = (await answer.json()).rows;
      const same = latest.length === known.length && latest.every((row) => known.includes(row));
      stale = !(fresh && same);
    } else if (answer.status !== 304) {
      throw new Error(answer.status);
    }
    if (stale && busy() && !asked) offer();
    else if (stale || asked) await refresh(asked);
    lost.hidden = true;
    wait = document.hidden ? HIDDEN : EVERY;
  } catch {
    lost.hidden = false;
    wait = Math.min(wait * 2, LATEST);
  }
  timer = setTimeout(poll, wait);
}

// Remember the view and the filters, so that the menu's link to the inbox opens them again.
const query = new URLSearchParams(location.search);
if (query.has("view") && query.get("view") !== "last" && !query.has("q")) {
  query.delete("after");
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `inbox=${query}; path=${location.pathname}; max-age=31536000; samesite=lax${secure}`;
}
if (tabs?.dataset.news) {
  show.addEventListener("click", () => poll(true));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  window.addEventListener("online", () => poll());
  table()?.addEventListener("change", (event) => {
    if (event.target === all) {
      for (const box of table().querySelectorAll("input.action-select")) box.checked = all.checked;
    }
    count();
  });
  poll();
}
