// Finds serious accessibility faults with axe. `run(false)` inspects the whole page the first time, and later
// only the parts that are new or look different, so opening a menu does not cost another inspection of the page.
"use strict";

window.inspection = (() => {
  const GRAVE = ["serious", "critical"];
  const MINOR = ["empty-table-header"]; // reported despite their lower impact
  // Disabled, because these rules are slow and their findings are never serious
  const SLIGHT = ["aria-allowed-role", "region"];
  const RULES = Object.fromEntries(SLIGHT.map((id) => [id, { enabled: false }]));
  const STYLES = ["color", "backgroundColor", "backgroundImage", "opacity", "fontSize", "fontWeight"];
  const NAMES = /^(alt|aria-.*|for|href|lang|role|tabindex|title|type)$/;
  const seen = new WeakMap();

  const shown = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  // The properties of an element that axe judges: its colors, font, own text, name and role
  const looksOf = (one) => {
    const style = getComputedStyle(one);
    const texts = [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data);
    const attributes = [...one.attributes].filter(({ name }) => NAMES.test(name)).map(({ name, value }) => `${name}=${value}`);
    return [shown(one), ...STYLES.map((name) => style[name]), ...texts, ...attributes].join("|");
  };
  // Lists the visible elements that look different than in the previous run. Of nested elements, only the outermost is listed
  const changed = (one) => {
    const looks = looksOf(one), differs = seen.get(one) !== looks;
    seen.set(one, looks);
    const inner = [...one.children].flatMap(changed);
    return differs && shown(one) ? [one] : inner;
  };

  return {
    async run(whole) {
      const parts = whole ? [document.documentElement] : changed(document.documentElement);
      if (!parts.length) return [];
      const { violations } = await axe.run({ include: parts }, { resultTypes: ["violations"], preload: false, rules: RULES });
      return violations
        .filter(({ id, impact }) => GRAVE.includes(impact) || MINOR.includes(id))
        .map(({ id, nodes }) => `${id} (${nodes.length}): ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(", ")}`);
    },
  };
})();
