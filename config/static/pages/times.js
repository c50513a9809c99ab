// Show the UTC times on a page in the browser's time zone, and count down to events.
"use strict";

const ORDINARY = { dateStyle: "medium", timeStyle: "medium" };
const SHORT = { timeStyle: "short" };
const PRECISE = {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3,
};

// Filters read the times that a person types in this time zone.
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (ZONE && !`${document.cookie};`.includes(`timezone=${ZONE};`)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `timezone=${ZONE}; path=/admin/; max-age=31536000; samesite=lax${secure}`;
}

function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const format = { ms: PRECISE, time: SHORT }[time.dataset.local] ?? ORDINARY;
    time.textContent = moment.toLocaleString([], format);
    time.title = format === SHORT ? moment.toLocaleString([], ORDINARY) : time.dateTime;
    time.removeAttribute("data-local");
  }
}

// The same words as in config/durations.py.
const UNITS = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"]], TICK = 250;
const ends = new WeakMap(); // on the page's monotonic clock, which is never adjusted

function until(seconds) {
  const whole = Math.round(seconds);
  const [size, unit] = UNITS.find(([size]) => whole >= size) ?? [];
  if (!size) return "now";
  const count = Math.floor(whole / size);
  return `in ${count} ${unit === "days" && count === 1 ? "day" : unit}`;
}

function countDown() {
  for (const place of document.querySelectorAll("[data-seconds]")) {
    if (!ends.has(place)) ends.set(place, performance.now() + 1000 * Number(place.dataset.seconds));
    const words = until((ends.get(place) - performance.now()) / 1000);
    if (place.textContent !== words) place.textContent = words;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  localTimes(document);
  if (!document.querySelector("[data-seconds], [data-live]")) return;
  countDown();
  setInterval(countDown, TICK);
});
