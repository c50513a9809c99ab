"""Two ways to operate a page: with the mouse, or with only the keyboard."""

from dataclasses import dataclass, replace
from typing import Self

from playwright.sync_api import Locator, Page, expect

from tests.browser.crawl import HEIGHT, WIDTH, Look

MOST = 150  # a control that needs more key presses than this counts as unreachable
# Returns the key to press next on the way to a control, or an empty string if the focus is already
# on the control or on another radio button of its group. At the top of a page, Tab moves the focus
# to the skip link, and Enter then follows the link to the content.
WAY = """control => {
  const active = document.activeElement;
  const group = (one) => one.type === "radio" && one.name;
  if (active === control || (group(control) && group(active) === group(control))) return "";
  const skipped = active.matches(".skip") && document.querySelector(active.hash);
  if (skipped && skipped.contains(control)) return "Enter";
  if (active === document.body || active === document.documentElement) return "Tab";
  const before = control.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_PRECEDING;
  return before ? "Tab" : "Shift+Tab";
}"""
IN_SIGHT = """control => {
  const box = control.getClientRects()[0];
  if (!box) return true; // a live part is being replaced, and will keep the focus
  const found = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  if (!found) return false;
  const label = found.closest("label");
  return control.contains(found) || found.contains(control) || label?.control === control;
}"""


def drag(handle: Locator, row: Locator, *, below: bool) -> None:
    """With the mouse, drag a handle to the upper or lower half of a row.

    The handle and the row must be in view at the same time, because moving the mouse does not
    scroll the page.
    """
    mouse = handle.page.mouse
    handle.hover()
    mouse.down()
    box = row.bounding_box()
    assert box
    x, y = box["x"] + 20, box["y"] + box["height"] * (0.9 if below else 0.1)
    mouse.move(x, y - 5, steps=4)
    mouse.move(x, y, steps=2)
    mouse.up()


@dataclass
class Device:
    """A mouse, in a window with a given look (a width and a color scheme).

    Each method first waits for its control. See `await_page`.
    """

    page: Page
    look: Look

    def __post_init__(self) -> None:
        self.page.set_viewport_size({"width": self.look.width, "height": HEIGHT})
        self.page.emulate_media(color_scheme=self.look.scheme)

    def on(self, page: Page) -> Self:
        """Return a copy of this device that acts on another window."""
        return replace(self, page=page)

    def press(self, control: Locator) -> None:
        self.await_page(control)
        control.click()

    def press_twice(self, control: Locator) -> None:
        """Press a button twice, as impatient people do."""
        self.await_page(control)
        control.dblclick()

    def write(self, field: Locator, text: str) -> None:
        """Replace the text of a field."""
        self.await_page(field)
        field.fill(text)

    def choose(self, select: Locator, words: str) -> None:
        """Choose the option with this label."""
        self.await_page(select)
        select.select_option(label=words)

    def check(self, box: Locator) -> None:
        """Check a checkbox or a radio button."""
        self.await_page(box)
        box.check()

    def await_page(self, control: Locator) -> None:
        """Wait until a control is shown and its page has loaded.

        Asserts that the page is not wider than the window.
        """
        expect(control).to_be_visible()
        self.page.wait_for_load_state()
        assert self.page.evaluate(WIDTH) <= self.look.width, self.page.url


class Keyboard(Device):
    """Operates a page with the keyboard. Tab and Shift+Tab move the focus to a control."""

    def reach(self, control: Locator) -> None:
        """Move the focus to a control with Tab. Asserts that the control is not hidden."""
        self.await_page(control)
        for _ in range(MOST):
            key = control.evaluate(WAY)
            if not key:
                break
            self.page.keyboard.press(key)
        else:
            raise AssertionError(f"not reachable with Tab: {control}")
        assert control.evaluate(IN_SIGHT), f"the focus is hidden: {control}"

    def press(self, control: Locator) -> None:
        self.reach(control)
        self.page.keyboard.press("Enter")

    def press_twice(self, control: Locator) -> None:
        self.reach(control)
        for _ in range(2):
            self.page.keyboard.press("Enter")

    def write(self, field: Locator, text: str) -> None:
        self.reach(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def choose(self, select: Locator, words: str) -> None:
        self.reach(select)
        self.page.keyboard.type(words)
        expect(select.locator("option:checked")).to_have_text(words)

    def check(self, box: Locator) -> None:
        self.reach(box)
        for _ in range(MOST):
            if box.evaluate("box => box === document.activeElement"):
                break
            self.page.keyboard.press("ArrowDown")
        if not box.is_checked():
            self.page.keyboard.press("Space")
        expect(box).to_be_checked()
