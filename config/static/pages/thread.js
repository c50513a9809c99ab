// The page of a thread: new messages by polling, "seen", Ctrl+Enter, and what was typed is kept.
"use strict";

const page = document.getElementById("thread");
const list = document.getElementById("bubbles");
const form = document.getElementById("reply");
const field = document.getElementById("reply-text");
const news = document.getElementById("news");
const connection = document.getElementById("connection");
const SOON = 2000, HIDDEN = 15000, LATEST = 30000;
let position = Number(page.dataset.position), tag = "", wait = SOON, timer;

const nearEnd = () => window.innerHeight + window.scrollY > document.body.scrollHeight - 300;
const toEnd = () => (form ?? list).scrollIntoView({ block: "end" });

function seen() {
  if (!page.dataset.seen || document.hidden) return;
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  fetch(page.dataset.seen, { method: "POST", headers: { "X-CSRFToken": token } }).catch(() => {});
}

function show(answer) {
  if (answer.mode !== page.dataset.mode) {
    // The buttons say what they do in this mode; what was typed is kept over the reload.
    location.reload();
    return;
  }
  if (!answer.html.trim()) return;
  const stay = !nearEnd();
  list.insertAdjacentHTML("beforeend", answer.html);
  localTimes(list);
  position = answer.position;
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
  const kept = `reply-${page.dataset.thread}`;
  if (!field.value) field.value = sessionStorage.getItem(kept) ?? "";
  field.addEventListener("input", () => sessionStorage.setItem(kept, field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    sessionStorage.removeItem(kept);
    for (const button of form.querySelectorAll("button")) button.disabled = true; // once, not twice
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
