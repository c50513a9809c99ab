// Forms: a double click submits a form once. After a failed save, the focus moves to the first error. If the session
// ended or the service failed, the input is filled in again when the same person next opens the form in this tab.
"use strict";

(() => {
  const WAIT = 10_000; // ms until a form can be submitted again if its page stays, such as when loading was stopped
  const KEPT = "unsaved", FORMS = "form.warn-unsaved-form, form[data-keep]";
  const OWN = /^(csrfmiddlewaretoken|form_token)$|-(TOTAL|INITIAL|MIN_NUM|MAX_NUM)_FORMS$/; // not kept: each page has its own
  const NOTE = "This was not saved: your session had ended, or the service failed. Your input is back in the form. Save it again.";

  function stored(change) {
    try {
      return change(sessionStorage);
    } catch {
      return null; // session storage is disabled or full: the input exists only in the form
    }
  }

  const person = () => document.body.dataset.person;
  const nameOf = (form) => `${location.pathname} ${form.id}`;

  function keep(event) {
    const form = event.target;
    if (event.defaultPrevented || !form.matches(FORMS)) return;
    const secret = new Set([...form.querySelectorAll("[type=password]")].map((field) => field.name));
    const entries = [...new FormData(form)].filter(([name]) => !OWN.test(name) && !secret.has(name));
    stored((session) => session.setItem(KEPT, JSON.stringify({ person: person(), form: nameOf(form), entries })));
  }

  function fill(form, entries) {
    for (const field of form.elements) {
      if (!field.name || OWN.test(field.name) || ["password", "submit"].includes(field.type)) continue;
      const values = entries.filter(([name]) => name === field.name).map(([, value]) => value);
      if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
      else if (field.options) for (const option of field.options) option.selected = values.includes(option.value);
      else if (values.length) field.value = values[0];
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
    const note = Object.assign(document.createElement("p"), { className: "warning", textContent: NOTE });
    note.setAttribute("role", "status");
    form.before(note);
  }

  // A second submit would replace the response to the first, which may show a secret that no page shows again.
  // Buttons stay enabled, because a disabled button is not submitted with its form.
  const sending = new Set();
  function submitOnce(event) {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (sending.has(form)) return event.preventDefault();
    sending.add(form);
    setTimeout(() => sending.delete(form), WAIT);
  }

  document.addEventListener("submit", keep);
  document.addEventListener("submit", submitOnce);
  // The browser may restore the page with everything that its scripts remember.
  addEventListener("pageshow", (event) => event.persisted && sending.clear());
  document.addEventListener("DOMContentLoaded", () => {
    const kept = JSON.parse(stored((session) => session.getItem(KEPT)));
    const failed = document.querySelector("#login-form, [data-failed]");
    if (!kept) return;
    if (failed) return void stored((session) => session.setItem(KEPT, JSON.stringify({ ...kept, failed: true })));
    stored((session) => session.removeItem(KEPT));
    const form = [...document.querySelectorAll(FORMS)].find((one) => nameOf(one) === kept.form);
    if (kept.failed && form && kept.person === person()) fill(form, kept.entries);
  });
  // By then, the theme's script has opened the tab with the error.
  addEventListener("load", () => {
    const wrong = [...document.querySelectorAll("#content [aria-invalid=true]")];
    wrong.find((field) => field.offsetParent)?.focus();
  });
})();
