"""Open pages in a browser as people see them, and list what is wrong with each."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
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
MOST_STOPS = 400  # presses of Tab before a page counts as a trap
FOCUS = Path(__file__).with_name("focus.js").read_text()
INSPECTION = Axe().axe_script + Path(__file__).with_name("inspection.js").read_text()
# What a person can open on a page: the tabs of a form, the panel of filters, folded parts.
TABS = "nav > [role=tab]"
FILTERS = "[x-on\\:click='filterOpen = true']"
FOLDED = "#content details:not([open])"
UNFOLD = "all => all.forEach((one) => { one.open = true; })"
COMMAND = "[x-data*=searchCommand]"
# A colour that fades in has no contrast yet, so nothing fades in or moves.
STILL = """const still = new CSSStyleSheet();
still.replaceSync(`*, *::before, *::after {
  animation: none !important; transition: none !important;
}`);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];"""
# A part is shown some frames after the click that opens it.
SETTLED = """async () => {
  for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame);
}"""
CLOSED = ".narrow-only[aria-label=Menu], [x-data*=openTheme] > a, [x-data*=openUserLinks] > div"


@dataclass(frozen=True)
class Look:
    """A size of the window and a colour scheme."""

    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}"


PHONE, DESK = 390, 1440
LOOKS = tuple(Look(width, scheme) for width in (PHONE, DESK) for scheme in ("light", "dark"))


@dataclass
class Crawler:
    """A window that notes errors, requests to other hosts, and faults that axe finds."""

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
        """Note errors and warnings; violations of the Content-Security-Policy are among them."""
        page_itself = said.text.startswith("Failed to load resource") and self.at.endswith(
            urlsplit(said.location["url"]).path
        )
        if said.type in ("error", "warning") and not page_itself:
            self.note(f"console: {said.text}")

    def note_request(self, request: Request) -> None:
        if not request.url.startswith((self.host, "data:", "blob:", "about:")):
            self.note(f"request to another host: {request.url}")

    def sign_in(self, session: str) -> None:
        """Use this session from now on."""
        cookie = {"name": "sessionid", "value": session, "url": self.host}
        self.page.context.add_cookies([cookie])  # type: ignore[list-item]  # a typed dict

    def become(self, look: Look, *, at: str) -> None:
        """Show the next pages in a look; `at` names them in the list of faults."""
        self.at = at
        self.page.set_viewport_size({"width": look.width, "height": HEIGHT})
        self.page.emulate_media(color_scheme=look.scheme, reduced_motion="reduce")

    def visit(self, address: str, look: Look) -> None:
        """Open a page in a look."""
        self.become(look, at=address)
        self.page.goto(address, wait_until="load")
        self.page.wait_for_function("!document.documentElement.hasAttribute('x-cloak')")

    def resize(self, look: Look) -> None:
        """Show the open page in another size."""
        self.page.set_viewport_size({"width": look.width, "height": HEIGHT})

    def states(self, *, shell: bool = True) -> Iterator[str]:
        """Yield the states of the open page: as it opens, and with each of its parts opened.

        The shell is what all pages have in common: the menus and the search.
        """
        yield "as opened"
        for tab in self.page.locator(TABS).all():
            if tab.is_visible():
                tab.click()
                yield f"tab {tab.inner_text()}"
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

    def shell(self) -> Iterator[str]:
        """Yield the states of the shell: the search with its hits, and each menu open."""
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
        """Note serious accessibility faults, and a page that is wider than its window.

        The first state is inspected as a whole, each other one where it differs from the last, or
        as a whole if all looks are asked for.
        """
        self.page.evaluate(SETTLED)
        if not self.page.evaluate("Boolean(window.inspection)"):
            self.page.evaluate(INSPECTION)
        for fault in self.page.evaluate("whole => inspection.run(whole)", ALL_LOOKS):
            self.note(f"{look} {state}: {fault}")
        self.measure(state, look)

    def walk(self, look: Look, *, shell: bool = True) -> None:
        """Press Tab to the end of the page, and note what is wrong with the way.

        It begins at the page's top, or with the skip link if the shell is left out.
        """
        self.page.evaluate(FOCUS)
        self.page.evaluate("part => focusWalk.start(part)", "body" if shell else "#content")
        if not shell:
            self.page.keyboard.press("Tab")
            if not self.page.locator(".skip:focus").count():
                self.note(f"{look}: the first Tab does not find the skip link")
                return
            self.page.keyboard.press("Enter")
        for _ in range(MOST_STOPS):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("focusWalk.step()"):
                break
        for fault in self.page.evaluate("focusWalk.faults()"):
            self.note(f"{look}: {fault}")

    def measure(self, state: str, look: Look) -> None:
        width = self.page.evaluate("document.documentElement.scrollWidth")
        if width > look.width:
            self.note(f"{look} {state}: {width} px wide")
