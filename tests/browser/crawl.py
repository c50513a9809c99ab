"""Open pages in a browser, as a person would, and list what is wrong with each."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    ConsoleMessage,
    Page,
    Request,
    expect,
)

ALL_LOOKS = os.environ.get("ALL_LOOKS", "") not in ("", "0")
HEIGHT = 900
MOST_STOPS = 400  # a page that needs more presses of Tab than this counts as a focus trap
FOCUS = Path(__file__).with_name("focus.js").read_text()
INSPECTION = Axe().axe_script + Path(__file__).with_name("inspection.js").read_text()
# Selectors for the parts of a page that can be opened, such as tabs, filter panels and sections.
TABS = ":is(#tabs-items, #tabs-dropdown) > [role=tab]"
MENU = "#tabs-dropdown"  # the menu of tabs, which closes when a tab is clicked
OTHER_TABS = "#tabs-items + div > [x-on\\:click]"
FILTERS = "[x-on\\:click='filterOpen = true']"
FOLDED = "#content details:not([open])"
UNFOLD = "all => all.forEach((one) => { one.open = true; })"
COMMAND = "[x-data*=searchCommand]"
# Disables animations: axe could otherwise measure the contrast of a color that is still fading in.
STILL = """const still = new CSSStyleSheet();
still.replaceSync(`*, *::before, *::after {
  animation: none !important; transition: none !important;
}`);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];"""
# Waits a few frames, because a panel appears only some frames after the click that opens it.
SETTLED = """async () => {
  for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame);
}"""
# Returns the width of a page, including content that the admin's stylesheet clips at the edge of a
# narrow window.
WIDTH = """() => {
  const root = document.documentElement, main = document.getElementById("main");
  if (!main) return root.scrollWidth;
  main.style.overflowX = "visible";
  const width = root.scrollWidth;
  main.style.removeProperty("overflow-x");
  return width;
}"""
# Lists the `link` elements that point to other hosts. Some, such as preconnect links, cause no
# request, so `note_request` does not see them.
FOREIGN = """() => [...document.querySelectorAll("link[href]")]
  .map((link) => new URL(link.href))
  .filter((address) => address.protocol !== "data:" && address.origin !== location.origin)
  .map(String)"""
CLOSED = ".narrow-only[aria-label=Menu], [x-data*=openTheme] > a, [x-data*=openUserLinks] > div"


@dataclass(frozen=True)
class Look:
    """A window width and a color scheme."""

    width: int
    scheme: Literal["light", "dark"]

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}"


PHONE, DESK = 390, 1440
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
LOOKS = tuple(Look(width, scheme) for width in (PHONE, DESK) for scheme in SCHEMES)


@dataclass
class Crawler:
    """A window that records errors, requests to other hosts, and faults that axe finds."""

    page: Page
    host: str
    found: list[str] = field(default_factory=list)
    at: str = ""

    def __post_init__(self) -> None:
        self.page.add_init_script(STILL)
        self.page.on("console", lambda said: self.note_console(said))
        self.page.on("pageerror", lambda error: self.note(f"page error: {error}"))
        self.page.on("request", lambda request: self.note_request(request))

    def note(self, fault: str) -> None:
        self.found.append(f"{self.at}: {fault}")

    def note_console(self, said: ConsoleMessage) -> None:
        """Record errors and warnings, including CSP violations.

        Ignores the browser's message that the page itself has an error status.
        """
        page_itself = said.text.startswith("Failed to load resource") and self.at.endswith(
            urlsplit(said.location["url"]).path
        )
        if said.type in ("error", "warning") and not page_itself:
            self.note(f"console: {said.text}")

    def note_request(self, request: Request) -> None:
        if not request.url.startswith((self.host, "data:", "blob:", "about:")):
            self.note(f"request to another host: {request.url}")

    def sign_in(self, session: str) -> None:
        """Sign in with this session by setting its cookie."""
        cookie = {"name": "sessionid", "value": session, "url": self.host}
        self.page.context.add_cookies([cookie])  # type: ignore[list-item]  # a typed dict

    def become(self, look: Look, *, at: str) -> None:
        """Apply a look to the window. `at` names the page or step in recorded faults."""
        self.at = at
        self.page.set_viewport_size({"width": look.width, "height": HEIGHT})
        self.page.emulate_media(color_scheme=look.scheme, reduced_motion="reduce")

    def visit(self, address: str, look: Look) -> None:
        """Open a page with a look's width and color scheme."""
        self.become(look, at=address)
        self.page.goto(address, wait_until="load")
        self.page.wait_for_function("!document.documentElement.hasAttribute('data-starting')")

    def resize(self, look: Look) -> None:
        """Show the open page at another width."""
        self.page.set_viewport_size({"width": look.width, "height": HEIGHT})
        self.page.evaluate(SETTLED)  # gives charts time to be redrawn

    def states(self, *, shell: bool = True) -> Iterator[str]:
        """Put the open page into each of its states, and yield the name of each state.

        The first state is the page as it opens. The next states show each tab, the unfolded
        sections, the filter panel and the shortcuts dialog. If `shell` is set, the last states show
        the search and the menus, which all pages have in common.
        """
        yield "as opened"
        yield from self.tabs()
        if self.page.locator(FOLDED).count():
            self.page.locator(FOLDED).evaluate_all(UNFOLD)
            yield "unfolded"
        filters = self.page.locator(FILTERS)
        if filters.count() and filters.first.is_visible():
            filters.first.click()
            yield "filters"
            self.page.keyboard.press("Escape")
        if self.page.locator("#shortcuts").count():
            self.page.keyboard.press("?")
            yield "shortcuts"
            self.page.keyboard.press("Escape")
        if shell:
            yield from self.shell()

    def tabs(self) -> Iterator[str]:
        """Open each tab. In a narrow window, some of the tabs are in a menu."""
        for tab in self.page.locator(TABS).all():
            if not tab.is_visible():
                self.page.locator(OTHER_TABS).click()
            tab.click()
            expect(self.page.locator(MENU)).to_be_hidden()
            yield f"tab {tab.inner_text()}"

    def shell(self) -> Iterator[str]:
        """Open the search box and show some results, then open each menu. Yields state names."""
        if self.page.locator(COMMAND).count():
            self.page.keyboard.press("Control+k")
            field = self.page.locator("#search-input-command")
            expect(field).to_be_focused()
            field.press_sequentially("in")
            self.page.locator("#command-results-list").wait_for()
            yield "search"
            self.page.keyboard.press("Escape")  # empties the field
            self.page.keyboard.press("Escape")
        for control in self.page.locator(CLOSED).all():
            if control.is_visible():
                control.click()
                yield "menu"
                self.page.keyboard.press("Escape")

    def inspect(self, state: str, look: Look) -> None:
        """Record serious accessibility faults, links to other hosts, and excessive page width.

        The first state is inspected as a whole. Each later state is inspected only where it differs
        from the previous one, unless ALL_LOOKS is set.
        """
        self.page.evaluate(SETTLED)
        if not self.page.evaluate("Boolean(window.inspection)"):
            self.page.evaluate(INSPECTION)
        for fault in self.page.evaluate("whole => inspection.run(whole)", ALL_LOOKS):
            self.note(f"{look} {state}: {fault}")
        for address in self.page.evaluate(FOREIGN):
            self.note(f"link to another host: {address}")
        self.measure(state, look)

    def walk(self, look: Look, *, shell: bool = True) -> None:
        """Press Tab from the top of the page to the end, and record focus faults.

        Without `shell`, the walk starts at the content, because the skip link is followed first.
        """
        self.page.evaluate(FOCUS)
        self.page.evaluate("part => focusWalk.start(part)", "body" if shell else "#content")
        if not shell:
            self.page.keyboard.press("Tab")
            if not self.page.locator(".skip:focus").count():
                self.note(f"{look}: the first Tab does not reach the skip link")
                return
            self.page.keyboard.press("Enter")
        for _ in range(MOST_STOPS):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("focusWalk.step()"):
                break
        for fault in self.page.evaluate("focusWalk.faults()"):
            self.note(f"{look}: {fault}")

    def measure(self, state: str, look: Look) -> None:
        """Record a fault if the page is wider than its window."""
        width = self.page.evaluate(WIDTH)
        if width > look.width:
            self.note(f"{look} {state}: {width} px wide")
