// Show times, which the pages contain in UTC, in the browser's time zone.
"use strict";

function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.textContent = moment.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
    time.title = time.dateTime;
    time.removeAttribute("data-local");
  }
}

document.addEventListener("DOMContentLoaded", () => localTimes(document));
