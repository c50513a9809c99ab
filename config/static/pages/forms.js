// Forms: a double click submits a form once. After a failed save, the focus moves to the first error. If the session
// ended or the service failed, the input is filled in again when the same person next opens the form in this tab.
"use strict";

(() => {
  const WAIT = 10_000; // ms until a form can be submitted again if its page stays, such as when loading was stopped
  const KEPT = "unsaved", FORMS = "form.warn-unsaved-form, form[data-keep]";
  const TOKEN = /^(csrfmiddlewaretoken|form_token)$/; // not kept: each page has its own
  const OWN = /-(TOTAL_FORMS|INITIAL_FORMS|MIN_NUM_FORMS|MAX_NUM_FORMS|id)$/; // kept, but only to compare lists
  const CAUSE = "This was not saved: your session had ended, or the service failed.";
  const SECRETS = "passwords and secrets", ROWS = "rows of a list that has changed";

  function stored(change) {
    try {
      return change(sessionStorage);
    } catch {
      return null; // session storage is disabled or full: the input exists only in the form
    }
  }

  const person = () => document.body.dataset.person;
  const nameOf = (form) => `${location.pathname} ${form.id}`;

  // A select may offer only some of the rows, so the text of the chosen option is kept as well.
  const textOf = (field, value) => [...(field.options ?? [])].find((option) => option.value === value)?.text;

  function keep(event) {
    const form = event.target;
    if (event.defaultPrevented || !form.matches(FORMS)) return;
    const secrets = [...form.querySelectorAll("[type=password]")];
    const names = new Set(secrets.map((field) => field.name));
    const entries = [...new FormData(form)]
      .filter(([name]) => !TOKEN.test(name) && !names.has(name))
      .map(([name, value]) => [name, value, textOf(form.elements[name], value)]);
    const lost = secrets.some((field) => field.value) ? [SECRETS] : [];
    stored((session) => session.setItem(KEPT, JSON.stringify({ person: person(), form: nameOf(form), entries, lost })));
  }

  function put(field, entries) {
    const values = entries.map(([, value]) => value);
    if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
    else if (field.options) {
      for (const [, value, text] of entries) if (textOf(field, value) === undefined) field.add(new Option(text, value));
      for (const option of field.options) option.selected = values.includes(option.value);
    } else if (values.length) field.value = values[0];
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function restore(form, { entries, lost }) {
    const missing = new Set(lost);
    const kept = (name) => entries.filter(([one]) => one === name);
    const first = (name) => kept(name)[0]?.[1] ?? "";

    // Whether the field's place in its list now belongs to another row, because someone has added or deleted rows.
    function moved(name) {
      const plain = name.replace(/^initial-/, ""), id = plain.replace(/(-\d+)-.*/, "$1-id");
      return id !== plain && first(id) !== (form.elements[id]?.value ?? "");
    }

    function fill(fields) {
      for (const field of fields) {
        if (!field.name || OWN.test(field.name) || ["password", "submit"].includes(field.type)) continue;
        if (!moved(field.name)) put(field, kept(field.name));
        else if (field.type !== "hidden") missing.add(ROWS);
      }
    }

    function addRows() {
      const added = (event) => fill(event.target.querySelectorAll("[name]"));
      document.addEventListener("formset:added", added, true); // before the scripts that set up the new row
      for (const total of form.querySelectorAll("[name$=-TOTAL_FORMS]")) {
        const add = total.closest(".formset-wrapper")?.querySelector(".add-row"), wanted = Number(first(total.name));
        for (let count = Number(total.value); add && count < wanted; count++) add.click();
        if (add && Number(total.value) < wanted) missing.add(ROWS); // the list is full
      }
      document.removeEventListener("formset:added", added, true);
    }

    function note() {
      const except = missing.size ? `, except ${[...missing].join(" and ")}` : "";
      const textContent = `${CAUSE} Your input is back in the form${except}. Save it again.`;
      const words = Object.assign(document.createElement("p"), { className: "warning", textContent });
      words.setAttribute("role", "status");
      form.before(words);
    }

    fill(form.elements);
    // By then, the theme's script has made the controls work that add rows.
    addEventListener("load", () => {
      addRows();
      note();
    });
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
    if (kept.failed && form && kept.person === person()) restore(form, kept);
  });
  // By then, the theme's script has opened the tab with the error.
  addEventListener("load", () => {
    const wrong = [...document.querySelectorAll("#content [aria-invalid=true]")];
    wrong.find((field) => field.offsetParent)?.focus();
  });
})();
