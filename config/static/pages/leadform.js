// Show the lead form's extra fields as rows, with a preview. The rows replace the text field that holds them as JSON.
"use strict";

// Runs once: when the page loads, or when lead settings are added to a chatbot that has none.
function editLeadForm() {
  const text = document.querySelector('textarea[name$="-customer_form_field"]:not([name*="__prefix__"])');
  const place = document.getElementById("lead-form");
  if (!text || !place?.hidden) return;
  const MOST = 50;
  const TYPES = { text: "Text", textarea: "Long text", email: "Email", phone: "Phone" };
  const STANDARD = [["customer_name_take", "Name"], ["customer_email_take", "Email"], ["customer_phone_take", "Phone"]];
  const prefix = text.name.replace(/customer_form_field$/, "");
  const [list, preview, add] = ["[data-fields]", "[data-preview]", "[data-add]"].map((part) => place.querySelector(part));

  function read() {
    try {
      const found = JSON.parse(text.value || "[]");
      return Array.isArray(found) && found.every((one) => one && typeof one === "object") ? found : null;
    } catch {
      return null;
    }
  }

  // Text that is not a list of objects stays as it is: the server has rejected it.
  const fields = read();
  if (!fields) return;

  function keyOf(label, mine) {
    const plain = label.normalize("NFKD").toLowerCase().replace(/[\u0300-\u036f]/g, "");
    const base = plain.replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "").replace(/^(?=\d)/, "_") || "field";
    const taken = new Set(fields.filter((one) => one !== mine).map((one) => one.field_name));
    let key = base;
    for (let number = 2; taken.has(key); number++) key = `${base}_${number}`;
    return key;
  }

  function make(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  const labeled = (name, control) => make("label", { className: "name" }, name, control);

  const order = reorderable(list, {
    one: ".lead-field",
    rows: () => [...list.children],
    moved: () => { fields.splice(0, fields.length, ...[...list.children].map((row) => row.field)); store(); },
  });

  function rowOf(field, isNew = false) {
    const row = make("fieldset", { className: "lead-field" });
    const label = make("input", { className: "box", value: field.display_label ?? "" });
    const key = make("input", { className: "box code", value: field.field_name ?? "", pattern: "[a-z_][a-z0-9_]*", title: "lowercase letters, digits and underscores" });
    const type = make("select", { className: "box" }, ...Object.entries(TYPES).map(([value, name]) => make("option", { value, textContent: name, selected: value === field.field_type })));
    const required = make("input", { type: "checkbox", checked: Boolean(field.required) });
    const placeholder = make("input", { className: "box", value: field.placeholder_text ?? "" });
    const [up, down] = ["Up", "Down"].map((textContent) => make("button", { type: "button", className: "link", textContent }));
    const remove = make("button", { type: "button", className: "link", textContent: "Remove" });
    const hidden = make("span", { className: "state busy", textContent: "not shown: the label is empty" });
    const legend = make("legend", { className: "unseen" });
    const duplicate = make("span", { className: "state bad", textContent: "another field has this key" });
    const mover = order.handle(row, "the field");
    row.append(legend, mover, labeled("Label", label), labeled("Key", key), labeled("Type", type), labeled("Placeholder", placeholder),
      make("label", {}, required, " Required"), up, down, remove, hidden, duplicate);
    row.field = field;
    let derived = isNew || !field.field_name || field.field_name === keyOf(field.display_label ?? "", field);
    row.refresh = () => {
      legend.textContent = `Field ${field.display_label || field.field_name || "without a name"}`;
      hidden.hidden = Boolean(label.value);
      duplicate.hidden = !fields.some((one) => one !== field && one.field_name === field.field_name);
    };
    label.addEventListener("input", () => {
      field.display_label = label.value;
      if (derived && label.value) key.value = field.field_name = keyOf(label.value, field);
      store();
    });
    key.addEventListener("input", () => { field.field_name = key.value; derived = !key.value; store(); });
    type.addEventListener("change", () => { field.field_type = type.value; store(); });
    required.addEventListener("change", () => { field.required = required.checked; store(); });
    placeholder.addEventListener("input", () => { field.placeholder_text = placeholder.value; store(); });
    up.addEventListener("click", () => order.step(row, false));
    down.addEventListener("click", () => order.step(row, true));
    remove.addEventListener("click", () => {
      fields.splice(fields.indexOf(field), 1);
      row.remove();
      store();
      add.focus();
    });
    return row;
  }

  function show() {
    const input = (type, placeholder) => make(type === "textarea" ? "textarea" : "input", { className: "box", disabled: true, placeholder: placeholder ?? "" });
    const standard = STANDARD.filter(([name]) => document.querySelector(`[name="${prefix}${name}"]`)?.checked);
    preview.replaceChildren(
      ...standard.map(([, name]) => labeled(name, input("text"))),
      ...fields.filter((one) => one.display_label).map((one) => labeled(`${one.display_label}${one.required ? " *" : ""}`, input(one.field_type, one.placeholder_text))),
    );
    if (!preview.childElementCount) preview.textContent = "The form asks for nothing.";
    add.disabled = fields.length >= MOST;
    for (const row of list.children) row.refresh();
  }

  function store() {
    text.value = JSON.stringify(fields);
    text.dispatchEvent(new Event("change", { bubbles: true }));
    show();
  }

  add.addEventListener("click", () => {
    const field = { display_label: "", field_name: keyOf("field", null), field_type: "text", required: false, placeholder_text: "", options: "" };
    fields.push(field);
    const row = list.appendChild(rowOf(field, true));
    store();
    row.querySelector("input").focus();
  });
  for (const [name] of STANDARD) document.querySelector(`[name="${prefix}${name}"]`)?.addEventListener("change", show);
  list.append(...fields.map((field) => rowOf(field)));
  const row = text.closest(".field-row, .form-row") ?? text;
  const errors = row.querySelector(".errorlist");
  if (errors) list.before(errors);
  row.classList.add("filtered-out");
  place.hidden = false;
  show();
}

document.addEventListener("DOMContentLoaded", editLeadForm);
document.addEventListener("formset:added", editLeadForm);
