// Times are written in UTC; a reader sees them in the zone of the browser.
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
