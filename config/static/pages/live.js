// Keep part of a page up to date until the work that it shows has ended.
"use strict";

const live = document.getElementById("live");
const SOON = 1000, HIDDEN = 15000, LATEST = 30000;
let tag = live ? `"${live.dataset.tag}"` : "", wait = SOON, timer;

// The controls with the given label, in order: after a replacement, the focus returns to the one in the same place.
const alike = (words) =>
  [...live.querySelectorAll("a[href], button, summary, [tabindex]")].filter((one) => one.textContent.trim() === words);

function replace(html) {
  const opened = [...live.querySelectorAll("details[open]")].map((one) => one.id);
  const focused = live.contains(document.activeElement) ? document.activeElement : null;
  const words = focused?.textContent.trim(), place = alike(words).indexOf(focused);
  live.innerHTML = html;
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  if (focused) alike(words)[place]?.focus({ preventScroll: true });
  localTimes(live);
  countDown();
}

// Screen readers read this short text about the change, not everything that was replaced.
function say(words) {
  if (words === live.dataset.said) return;
  live.dataset.said = words;
  document.getElementById("live-said").textContent = words;
}

function connected(works) {
  let bar = document.getElementById("connection");
  if (!bar && !works) {
    bar = document.createElement("p");
    bar.id = "connection";
    bar.className = "warning";
    bar.setAttribute("role", "status");
    bar.textContent = "Not connected, trying again.";
    live.before(bar);
  }
  if (bar) bar.hidden = works;
}

async function follow() {
  clearTimeout(timer);
  try {
    const answer = await fetch(live.dataset.live, { headers: { "If-None-Match": tag }, cache: "no-store" });
    if (answer.redirected) return location.reload();
    if (answer.ok) {
      const news = await answer.json();
      if (!live.matches(":active")) { // replacing a button while it is pressed would lose the click
        tag = answer.headers.get("ETag");
        replace(news.html);
        say(news.said);
        live.toggleAttribute("data-moving", news.moving);
      }
    } else if (answer.status !== 304) {
      throw new Error(answer.status);
    }
    connected(true);
    wait = document.hidden ? HIDDEN : SOON;
  } catch {
    connected(false);
    wait = Math.min(wait * 2, LATEST);
  }
  if ("moving" in live.dataset) timer = setTimeout(follow, wait);
}

if (live && "moving" in live.dataset) {
  timer = setTimeout(follow, SOON);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && "moving" in live.dataset) follow();
  });
}
