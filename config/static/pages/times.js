// Show times, which the pages contain in UTC, in the browser's time zone.
"use strict";

const ORDINARY = { dateStyle: "medium", timeStyle: "medium" };
const PRECISE = {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3,
};

function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.textContent = moment.toLocaleString([], time.dataset.local === "ms" ? PRECISE : ORDINARY);
    time.title = time.dateTime;
    time.removeAttribute("data-local");
  }
}

document.addEventListener("DOMContentLoaded", () => localTimes(document));
