// "Try it" uses a bot's saved settings. Its page shows a warning while a form with these settings is
// open in another window and has unsaved changes.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const bot = document.querySelector("[data-bot]")?.dataset.bot;
  const bar = document.getElementById("unsaved"), form = document.querySelector("form.warn-unsaved-form");
  if (!bot || !(bar || form)) return;
  const channel = new BroadcastChannel(`settings-${bot}`);
  if (bar) {
    const unsaved = new Set();
    channel.addEventListener("message", ({ data }) => {
      if (data.question) return;
      if (data.changed) unsaved.add(data.name);
      else unsaved.delete(data.name);
      bar.hidden = !unsaved.size;
    });
    channel.postMessage({ question: true });
    return;
  }
  const name = `${performance.timeOrigin} ${Math.random()}`;
  let changed = Boolean(form.querySelector("[aria-invalid=true]")); // the last save failed
  const tell = (now) => channel.postMessage({ name, changed: now });
  const note = () => {
    if (!changed) tell((changed = true));
  };
  channel.addEventListener("message", ({ data }) => data.question && tell(changed));
  form.addEventListener("input", note);
  form.addEventListener("change", note);
  addEventListener("pagehide", () => tell(false));
  addEventListener("pageshow", () => tell(changed)); // the browser may restore the page with its changes
});
