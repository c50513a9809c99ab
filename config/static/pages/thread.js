// A thread's page: it polls for new messages, reports them as seen, and sends the reply on Ctrl+Enter.
// The typed text and its form's token are kept in the browser until the resulting message appears on
// the page.
"use strict";

const page = document.getElementById("thread");
const list = document.getElementById("bubbles");
const form = document.getElementById("reply");
const field = document.getElementById("reply-text");
const head = document.getElementById("head");
const foot = document.getElementById("foot");
const news = document.getElementById("news");
const others = document.getElementById("others");
const seenField = form?.elements.newest_seen, draftField = form?.elements.draft;
// The id and the text of the AI's draft that the agent has just chosen, if any.
const offered = field?.dataset.offered, offer = offered ? field.defaultValue : "";
const connection = document.getElementById("connection");
const SOON = 2000, HIDDEN = 15000, LATEST = 30000;
const kept = {
  name: `reply-${page.dataset.agent}-${page.dataset.thread}`,
  read() {
    try {
      return JSON.parse(localStorage.getItem(this.name));
    } catch {
      return null;
    }
  },
  write(text = field.value) {
    const token = form.elements.form_token.value, seen = seenField.value, draft = draftField.value;
    try {
      if (text) localStorage.setItem(this.name, JSON.stringify({ text, token, seen, draft }));
      else localStorage.removeItem(this.name);
    } catch {
      // Local storage is disabled or full: the text exists only in the box.
    }
  },
};
let position = Number(page.dataset.position), tag = "", wait = SOON, unread = 0, timer;

const plain = (text) => text.replace(/\r\n/g, "\n").trim();
const shown = (reply) => list.querySelector(`[data-token="${reply?.token}"] .words`);
const sent = (reply) => Boolean(shown(reply)) && plain(shown(reply).textContent) === plain(reply.text);

function restore() {
  const reply = kept.read(), unsent = reply && !sent(reply);
  if (unsent) {
    if (offered && reply.draft !== offered) ask();
    if (offered || !field.value) {
      field.value = reply.text;
      draftField.value = reply.draft ?? "";
    }
    // Reuse the token: if the first attempt was stored after all, the second stores nothing.
    if (field.value === reply.text && !shown(reply)) form.elements.form_token.value = reply.token;
    // The agent wrote this text before the newest messages arrived. Those messages are treated as seen
    // only if the page says that the reply was held back because of them.
    if (reply.seen && !("held" in seenField.dataset)) seenField.value = reply.seen;
  }
  kept.write(unsent || field.value !== offer ? field.value : ""); // the server keeps an unchanged draft
}

// Leave the agent's own text in the box until the agent decides to replace it with the chosen draft.
function ask() {
  const bar = document.getElementById("offer");
  bar.hidden = false;
  bar.querySelector("button").addEventListener("click", () => {
    field.value = offer;
    draftField.value = offered;
    bar.hidden = true;
    kept.write();
    field.focus();
  });
}

// Set the heights of the header and the reply box, which stay in view, for the stylesheet.
function measure() {
  for (const part of [head, foot]) document.documentElement.style.setProperty(`--${part.id}`, `${part.offsetHeight}px`);
}

const bottom = (part) => part.getBoundingClientRect().bottom;
// Whether the newest messages are in view, rather than older ones or, on a phone, the details below them.
const nearEnd = () => bottom(list) < bottom(foot) - foot.offsetHeight + 100 && bottom(list) > bottom(head);
const toEnd = () => list.scrollIntoView({ block: "end" }); // the scroll padding keeps it above the reply box

function seen() {
  if (!page.dataset.seen || document.hidden) return;
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  fetch(page.dataset.seen, { method: "POST", headers: { "X-CSRFToken": token } }).catch(() => {});
}

function show(answer) {
  if (others) others.textContent = answer.others.length ? `${answer.others.join(", ")} ${answer.others.length > 1 ? "are" : "is"} also here` : "";
  if (!answer.html.trim()) return;
  const stay = !nearEnd();
  list.insertAdjacentHTML("beforeend", answer.html);
  localTimes(list);
  divide();
  position = answer.position;
  if (form && answer.newest && !field.value) seenField.value = answer.newest;
  if (form && sent(kept.read())) {
    // The message was stored, but the response never reached this page.
    if (plain(field.value) === plain(kept.read().text)) field.value = "";
    kept.write();
    location.reload();
    return;
  }
  unread += (answer.html.match(/<li [^>]*data-position=/g) ?? []).length;
  if (stay) announce();
  else toEnd();
  seen();
}

// Update the parts of the page that show the thread's state. A reload would lose the focus and the scroll position.
async function refresh(state) {
  const answer = await fetch(page.dataset.page, { cache: "no-store" });
  if (answer.redirected) return location.reload();
  if (!answer.ok) throw new Error(answer.status);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focused = document.activeElement, words = focused.textContent.trim();
  for (const part of document.querySelectorAll("[data-fresh]")) {
    const within = part.contains(focused);
    part.replaceChildren(...(fresh.getElementById(part.id)?.childNodes ?? []));
    if (within) [...part.querySelectorAll("button")].find((button) => button.textContent.trim() === words)?.focus();
  }
  replaceExtras(fresh.getElementById("bubbles"));
  page.dataset.state = state;
}

// The drafts, notes and acts from an element on, up to the next message.
function extrasFrom(one) {
  const found = [];
  for (; one && !one.dataset.position; one = one.nextElementSibling) if (one.dataset.extra) found.push(one);
  return found;
}

// These belong to earlier messages, so they are not among the new messages that a poll returns.
function replaceExtras(fresh) {
  const stay = !nearEnd(), ids = (parts) => parts.map((part) => part.dataset.extra).join();
  const replace = (old, made, put) => {
    if (ids(old) === ids(made)) return;
    for (const part of old) part.remove();
    put(...made);
  };
  replace(extrasFrom(list.firstElementChild), extrasFrom(fresh.firstElementChild), (...made) => list.prepend(...made));
  for (const message of fresh.querySelectorAll("[data-position]")) {
    const place = document.getElementById(message.id);
    if (place) replace(extrasFrom(place.nextElementSibling), extrasFrom(message.nextElementSibling), (...made) => place.after(...made));
  }
  localTimes(list);
  divide();
  if (!stay) toEnd();
}

// Show the day above each day's first message, in the browser's time zone. The server does so in UTC.
function divide() {
  let last = "";
  for (const part of list.querySelectorAll(".day")) part.remove();
  for (const message of list.querySelectorAll("[data-position]")) {
    const day = new Date(message.querySelector("time").dateTime).toLocaleDateString([], { dateStyle: "full" });
    if (day !== last) message.insertAdjacentHTML("beforebegin", `<li class="day">${day}</li>`);
    last = day;
  }
}

function announce() {
  const typing = field?.value ? " while you were writing" : "";
  news.firstElementChild.textContent = `${unread} new message${unread > 1 ? "s" : ""}${typing}`;
  news.hidden = false;
}

async function poll() {
  clearTimeout(timer);
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const after = position;
    const answer = await fetch(`${page.dataset.messages}?after=${after}`, { headers, cache: "no-store" });
    if (answer.redirected) return location.reload();
    if (answer.ok) {
      const found = await answer.json();
      if (after === position) { // otherwise another poll at the same time has shown these messages
        show(found);
        if (found.state !== page.dataset.state) await refresh(found.state);
        tag = answer.headers.get("ETag");
      }
    } else if (answer.status !== 304) {
      throw new Error(answer.status);
    }
    connection.hidden = true;
    wait = document.hidden ? HIDDEN : SOON;
  } catch {
    connection.hidden = false;
    wait = Math.min(wait * 2, LATEST);
  }
  timer = setTimeout(poll, wait);
}

// A form with errors is shown at its own URL, which accepts only POST requests.
if (location.pathname !== page.dataset.page) history.replaceState(history.state, "", page.dataset.page);
divide();
measure();
const bars = new ResizeObserver(measure);
for (const part of [head, foot]) bars.observe(part);
news.firstElementChild.addEventListener("click", toEnd);
if (form) {
  restore();
  field.addEventListener("input", () => kept.write());
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    form.requestSubmit(event.shiftKey ? document.getElementById("send-resolve") : form.querySelector("#send > :last-child"));
  });
  form.addEventListener("submit", () => {
    kept.write();
    clearTimeout(timer);
    // Prevent a second submit, but only after the browser has noted which button was pressed.
    setTimeout(() => { for (const button of form.querySelectorAll("button")) button.disabled = true; });
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // a page restored from the cache has disabled buttons and old messages
  });
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  seen();
  if (!("past" in page.dataset)) poll();
});
window.addEventListener("online", () => { if (!("past" in page.dataset)) poll(); });
window.addEventListener("scroll", () => {
  if (!nearEnd()) return;
  news.hidden = true;
  unread = 0;
});
if (!("past" in page.dataset)) {
  toEnd();
  seen();
  timer = setTimeout(poll, SOON);
}
