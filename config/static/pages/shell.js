// The names that the expressions in the admin's HTML use. Alpine's build for a strict
// Content-Security-Policy knows only the names that are registered here, and accepts only one
// expression per attribute.
"use strict";

const charts = document.currentScript.dataset.charts;

const sidebar = {
  read() {
    try {
      return localStorage.getItem("sidebarDesktopOpen") !== "0";
    } catch {
      return true;
    }
  },
  write(open) {
    try {
      localStorage.setItem("sidebarDesktopOpen", open ? "1" : "0");
    } catch {
      // Local storage is disabled: the choice lasts until the next page.
    }
  },
};

document.addEventListener("alpine:init", () => {
  Alpine.data("theme", theme);
  Alpine.data("searchForm", searchForm);
  Alpine.data("searchCommand", () => {
    const theirs = searchCommand();
    return {
      ...theirs,
      handleOpen() {
        this.opener = document.activeElement;
        theirs.handleOpen.call(this);
      },
      // The theme handles Escape only in the input, but the focus may also be on a result, on the list or nowhere.
      handleEscape(event) {
        if (!this.openCommandResults) return;
        event.preventDefault();
        theirs.handleEscape.call(this);
        if (!this.openCommandResults) this.opener?.focus();
      },
      // If no result is selected, Enter opens the first one, provided that the results are for the typed text.
      choose(event) {
        const list = document.getElementById("command-results-list");
        const current = list?.dataset.text === this.$refs.searchInputCommand.value.trim();
        if (!this.currentIndex && this.totalItems && current) this.currentIndex = 1;
        if (this.currentIndex) this.selectItem(false, event.metaKey || event.ctrlKey);
      },
    };
  });
  Alpine.data("page", (tab) => ({
    activeTab: (tab && getCurrentTab()) || tab,
    sidebarMobileOpen: false,
    sidebarDesktopOpen: sidebar.read(),
    window: { location: { pathname: location.pathname, search: location.search } },
    init() {
      this.$watch("sidebarDesktopOpen", sidebar.write);
    },
  }));
});

// The theme calls this function when the page has loaded. The theme's own version reverses the order of the tabs
// that do not fit.
function tabNavigation() {
  const list = document.getElementById("tabs-items"), more = document.getElementById("tabs-dropdown");
  if (!list || !more) return;
  const wrapper = document.getElementById("tabs-wrapper"), content = document.getElementById("content");
  const fit = () => {
    list.append(...more.children);
    more.parentElement.classList.remove("hidden");
    if (wrapper.scrollWidth <= content.offsetWidth) return more.parentElement.classList.add("hidden");
    while (wrapper.scrollWidth > content.offsetWidth && list.lastElementChild) more.prepend(list.lastElementChild);
  };
  fit();
  addEventListener("resize", fit);
}

// Capitalize the column labels, which a list's cells show in a narrow window.
for (const { dataset } of document.querySelectorAll("[data-label]")) {
  dataset.label = dataset.label.replace(/^./, (first) => first.toUpperCase());
}

// Only pages with a chart load the chart library. The page's load event waits for the library, and
// then the theme draws the charts.
if (document.querySelector("canvas.chart")) {
  const script = document.createElement("script");
  script.src = charts;
  document.head.append(script);
}
