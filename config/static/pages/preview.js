// The live preview of a chatbot's appearance, and a color picker beside each color.
"use strict";

(() => {
  const PREFIX = "appearance-0-";
  const READABLE = 4.5; // minimum contrast of text, WCAG 2.1 AA
  const SIZES = { small: "44px", medium: "56px", large: "68px" };
  const PAPER = { light: "#ffffff", dark: "#1f2937" };
  const BUBBLE = { light: "#f3f4f6", dark: "#374151" };
  const SWITCHES = { open: null, dark: "enable_dark_mode", rtl: "right_to_left_mode", phone: null };

  const field = (name) => document.getElementById(`id_${PREFIX}${name}`);
  const value = (name) => field(name)?.value.trim() ?? "";

  function whole(color) {
    const found = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(color);
    if (!found) return null;
    const digits = found[1].length === 3 ? [...found[1]].map((digit) => digit + digit).join("") : found[1];
    return `#${digits.toLowerCase()}`;
  }

  function luminance(color) {
    const parts = [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16) / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  function pickers(changed) {
    for (const text of document.querySelectorAll(`input[data-color][id^="id_${PREFIX}"]`)) {
      const picker = document.createElement("input");
      picker.type = "color";
      picker.className = "picker";
      const label = document.querySelector(`label[for="${text.id}"]`);
      picker.setAttribute("aria-label", `Pick: ${label ? label.textContent.replace("*", "").trim() : text.name}`);
      const follow = () => { picker.value = whole(text.value.trim()) ?? picker.value; };
      picker.addEventListener("input", () => {
        text.value = picker.value;
        text.dispatchEvent(new Event("change", { bubbles: true }));
        changed();
      });
      text.addEventListener("input", follow);
      text.after(picker);
      follow();
    }
  }

  function warnings(theme) {
    const pairs = [
      ["brand_text_color", value("brand_primary_color"), "The text on the brand color"],
      ["brand_text_color", value("brand_icon_bg_color"), "The symbol on the bubble"],
      ["link_color", BUBBLE[theme], "A link in a message"],
    ];
    return pairs.flatMap(([text, background, name]) => {
      const [front, back] = [whole(value(text)), whole(background)];
      if (!front || !back) return [];
      const ratio = contrast(front, back);
      return ratio < READABLE ? [`${name} is hard to read: contrast ${ratio.toFixed(1)}, at least ${READABLE} is needed.`] : [];
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    const preview = document.getElementById("preview");
    if (!preview || !field("brand_primary_color")) return;
    const widget = preview.querySelector("[data-widget]");
    const list = preview.querySelector("[data-warnings]");
    const state = { open: true, dark: false, rtl: false, phone: false };

    function show() {
      const theme = state.dark ? "dark" : "light";
      const set = (name, text) => widget.style.setProperty(`--w-${name}`, text);
      for (const [name, source] of [["brand", "brand_primary_color"], ["on-brand", "brand_text_color"], ["icon", "brand_icon_bg_color"], ["link", "link_color"]]) {
        const color = whole(value(source));
        if (color) set(name, color);
      }
      set("paper", PAPER[theme]);
      set("soft", BUBBLE[theme]);
      set("ink", state.dark ? "#f9fafb" : "#111827");
      set("size", `${Math.min(Math.max(Number(value("font_size")) || 14, 8), 28)}px`);
      set("height", `${Math.min(Math.max(Number(value("chat_height")) || 600, 260), 480)}px`);
      set("bubble", SIZES[value("icon_size")] ?? SIZES.medium);
      set("round", value("icon_shape") === "square" ? "12px" : "50%");
      widget.dir = state.rtl ? "rtl" : "ltr";
      widget.classList.toggle("left", value("icon_position") === "left");
      widget.classList.toggle("shut", !state.open);
      widget.classList.toggle("phone", state.phone);
      widget.classList.toggle("plain-talk", !field("show_background")?.checked);
      for (const part of preview.querySelectorAll("[data-text]")) {
        part.textContent = value(part.dataset.text) || part.dataset.empty || "";
        part.hidden = !part.textContent || (part.dataset.if && !field(part.dataset.if)?.checked);
      }
      for (const button of preview.querySelectorAll("[data-switch]")) {
        button.setAttribute("aria-pressed", String(state[button.dataset.switch]));
      }
      const found = warnings(theme);
      if (list.dataset.shown !== found.join("\n")) {
        list.dataset.shown = found.join("\n");
        list.replaceChildren(...found.map((text) => Object.assign(document.createElement("p"), { className: "warning", textContent: text })));
      }
    }

    for (const [name, source] of Object.entries(SWITCHES)) {
      if (!source) continue;
      state[name] = Boolean(field(source)?.checked);
      field(source)?.addEventListener("change", (event) => { state[name] = event.target.checked; show(); });
    }
    preview.addEventListener("click", (event) => {
      const button = event.target.closest("[data-switch]");
      if (!button) return;
      state[button.dataset.switch] = !state[button.dataset.switch];
      show();
    });
    const group = document.getElementById("appearance-group") ?? document;
    group.addEventListener("input", show);
    group.addEventListener("change", show);
    pickers(show);
    preview.hidden = false;
    show();
  });
})();
