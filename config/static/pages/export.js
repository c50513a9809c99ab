// Show how many rows of an export have been sent. The browser itself saves the file.
"use strict";

const sheet = document.getElementById("export");
const shownProgress = document.getElementById("export-progress");
// INTERVAL and SELDOM are ms between polls. After PATIENCE polls without progress, the page says so and polls less
// often.
const INTERVAL = 1000, SELDOM = 10000, PATIENCE = 60;
const STUCK = "No progress for a minute. The browser may have blocked the download, or the download failed. Try again.";
const counted = (rows) => `${rows.toLocaleString()} ${rows === 1 ? "row" : "rows"}`;
let poll;

const ENDS = {
  done: (rows) => `Complete: ${counted(rows)}.`,
  incomplete: (rows) => `Incomplete: the database did not respond after ${counted(rows)}. Export again.`,
  stopped: (rows) => `Stopped after ${counted(rows)}.`,
};

async function follow(ticket, left, seen) {
  const bar = shownProgress.querySelector("progress"), words = shownProgress.querySelector("[role=status]");
  let said;
  try {
    const answer = await fetch(`${sheet.dataset.progress}?ticket=${ticket}`, { cache: "no-store" });
    const { rows, state } = await answer.json();
    const ended = ENDS[state];
    said = ended ? ended(rows) : state === "running" ? `${counted(rows)} sent` : "Starting…";
    if (ended) {
      words.textContent = said;
      bar.max = 1;
      bar.value = state === "done" ? 1 : 0;
      return;
    }
    if (rows > seen) left = PATIENCE;
    seen = rows;
  } catch {
    said = "Not connected, trying again.";
  }
  if (left <= 0) said = STUCK;
  if (words.textContent !== said) words.textContent = said; // a screen reader reads each change
  poll = setTimeout(follow, left > 0 ? INTERVAL : SELDOM, ticket, left - 1, seen);
}

// Each download has its own ticket: the page's ticket, with its last digits replaced by the download's number.
let downloads = 0;
for (const link of document.querySelectorAll("[data-export]")) {
  const address = link.href;
  link.addEventListener("click", () => {
    const number = (downloads++).toString(16);
    const ticket = sheet.dataset.ticket.slice(0, -number.length) + number;
    const url = new URL(address);
    url.searchParams.set("ticket", ticket);
    link.href = url;
    clearTimeout(poll);
    shownProgress.hidden = false;
    shownProgress.querySelector("progress").removeAttribute("value");
    follow(ticket, PATIENCE, 0);
  });
}
