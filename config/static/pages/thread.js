// The page of a thread: polling for new messages, "seen", Ctrl+Enter. The typed text is kept in the
// browser, with its form's token, until the page shows the message that was stored for it.
"use strict";

const page = document.getElementById("thread");
const list = document.getElementById("bubbles");
const form = document.getElementById("reply");
const field = document.getElementById("reply-text");
const news = document.getElementById("news");
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
  write() {
    const text = field.value, token = form.elements.form_token.value;
    try {
      if (text) localStorage.setItem(this.name, JSON.stringify({ text, token }));
      else localStorage.removeItem(this.name);
    } catch {
      // Local storage is disabled or full: the text exists only in the box.
    }
  },
};
let position = Number(page.dataset.position), tag = "", wait = SOON, timer;

const plain = (text) => text.replace(/\r\n/g, "\n").trim();
const shown = (reply) => list.querySelector(`[data-token="${reply?.token}"] .words`);
const sent = (reply) => Boolean(shown(reply)) && plain(shown(reply).textContent) === plain(reply.text);

function restore() {
  const reply = kept.read();
  if (reply && !sent(reply)) {
    field.value ||= reply.text;
    // Reuse the token: if the first attempt was stored after all, the second stores nothing.
    if (field.value === reply.text && !shown(reply)) form.elements.form_token.value = reply.token;
  }
  kept.write();
}

const nearEnd = () => window.innerHeight + window.scrollY > document.body.scrollHeight - 300;
const toEnd = () => (form ?? list).scrollIntoView({ block: "end" });

function seen() {
  if (!page.dataset.seen || document.hidden) return;
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  fetch(page.dataset.seen, { method: "POST", headers: { "X-CSRFToken": token } }).catch(() => {});
}

function show(answer) {
  if (answer.mode !== page.dataset.mode) {
    // Reload to show this mode's buttons. The typed text survives the reload.
    location.reload();
    return;
  }
  if (!answer.html.trim()) return;
  const stay = !nearEnd();
  list.insertAdjacentHTML("beforeend", answer.html);
  localTimes(list);
  position = answer.position;
  if (form && sent(kept.read())) {
    // The message was stored, but the response never reached this page.
    if (plain(field.value) === plain(kept.read().text)) field.value = "";
    kept.write();
    location.reload();
    return;
  }
  if (stay) news.hidden = false;
  else toEnd();
  seen();
}

async function poll() {
  clearTimeout(timer);
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const answer = await fetch(`${page.dataset.messages}?after=${position}`, { headers, cache: "no-store" });
    if (answer.redirected) return location.reload();
    if (answer.ok) {
      tag = answer.headers.get("ETag");
      show(await answer.json());
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

if (form) {
  restore();
  field.addEventListener("input", () => kept.write());
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    kept.write();
    clearTimeout(timer);
    for (const button of form.querySelectorAll("button")) button.disabled = true; // prevent a second submit
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // restored from cache: its buttons are disabled, its messages old
  });
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  seen();
  if (!("past" in page.dataset)) poll();
});
window.addEventListener("scroll", () => { if (nearEnd()) news.hidden = true; });
if (!("past" in page.dataset)) {
  toEnd();
  seen();
  timer = setTimeout(poll, SOON);
}
