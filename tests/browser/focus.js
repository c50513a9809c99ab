// Records which controls get the focus while Tab is pressed, and lists the faults that this reveals.
// Call `start(part)` before the first Tab, `step()` after each one until it returns true, then `faults()`.
"use strict";

window.focusWalk = (() => {
  const CONTROLS = "a, button, input:not([type=hidden]), select, textarea, summary, [role=button], [tabindex], [x-on\\:click]";
  const stops = [];
  let expected = [], wrapped = false;

  const words = (control) => {
    const text = control.getAttribute("aria-label") || control.innerText || control.name || control.id || "";
    return `${control.tagName.toLowerCase()} "${text.trim().slice(0, 40)}"`;
  };
  const shown = (control) => control.checkVisibility({ visibilityProperty: true }) && control.getClientRects().length > 0;
  const isControl = (control) => {
    if (control.disabled || control.closest("[inert]") || control.matches(".select2-hidden-accessible")) return false;
    if (control.matches("a:not([href]):not([x-on\\:click]):not([tabindex])")) return false;
    if (control.matches("[tabindex='-1']:not([x-on\\:click])")) return false;
    return shown(control);
  };
  // Tab stops at only one radio button of a group, and at only one tab of a list; arrow keys reach the others.
  const groupOf = (control) =>
    control.type === "radio" ? `${control.form?.id} ${control.name}` : control.closest("[role=tablist]") ?? control;
  const visible = (color) => !/^(transparent|rgba\(.*, 0\))$/.test(color);
  const styleOf = (control) => {
    const styles = [];
    for (let one = control, up = 0; one && up < 3; one = one.parentElement, up++) {
      const s = getComputedStyle(one);
      const outline = s.outlineStyle !== "none" && visible(s.outlineColor) ? `${s.outlineStyle} ${s.outlineWidth} ${s.outlineColor}` : "";
      styles.push(outline, s.boxShadow, s.borderColor, up ? "" : s.textDecorationLine + s.backgroundColor);
    }
    return styles.join("|");
  };
  const inSight = (control) => {
    const box = control.getClientRects()[0];
    if (!box) return false;
    const left = Math.max(box.left, 0), width = Math.min(box.right, innerWidth) - left;
    const top = Math.max(box.top, 0), height = Math.min(box.bottom, innerHeight) - top;
    return [0.5, 0.1, 0.9].some((x) => [0.5, 0.2, 0.8].some((y) => {
      const found = document.elementFromPoint(left + width * x, top + height * y);
      return found && (control.contains(found) || found.contains(control) || found.closest("label")?.control === control);
    }));
  };

  return {
    start(part) {
      // Begin at the top: otherwise, a field that is focused when the page opens would be the first stop
      document.body.tabIndex = -1;
      document.body.focus();
      document.body.removeAttribute("tabindex");
      expected = [...document.querySelectorAll(`${part} :is(${CONTROLS})`)].filter(isControl);
    },
    step() {
      const control = document.activeElement;
      wrapped = !control || control === document.body || stops.some((one) => one.control === control);
      wrapped ||= stops.length > 0 && control.matches(".skip"); // the first stop of every page
      if (!wrapped) stops.push({ control, style: styleOf(control), seen: inSight(control) });
      return wrapped;
    },
    faults() {
      const found = [];
      document.activeElement?.blur();
      if (!wrapped) found.push("the focus does not leave the page");
      stops.forEach(({ control, style, seen }, place) => {
        if (!seen) found.push(`the focus is hidden: ${words(control)}`);
        if (control.isConnected && styleOf(control) === style) found.push(`the focus cannot be seen: ${words(control)}`);
        const before = stops[place - 1]?.control;
        if (before && !(before.compareDocumentPosition(control) & Node.DOCUMENT_POSITION_FOLLOWING))
          found.push(`out of order: ${words(control)} after ${words(before)}`);
      });
      const reached = new Set(stops.map((one) => groupOf(one.control)));
      for (const control of expected)
        if (control.isConnected && !reached.has(groupOf(control))) found.push(`not reachable with Tab: ${words(control)}`);
      return found;
    },
  };
})();
