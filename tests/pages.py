"""Read what a page contains and looks up, and submit its forms as a browser does."""

from html.parser import HTMLParser
from typing import Any

from django.test import Client


class Fields(HTMLParser):
    """Collects the names and values of fields.

    It leaves out submit buttons, unchecked boxes, and the empty form of a formset, whose fields are
    named `__prefix__`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}
        self.select: str | None = None
        self.textarea: str | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        name = given.get("name") or ""
        if tag == "input" and "__prefix__" not in name:
            box = given.get("type") in ("checkbox", "radio")
            if name and (not box or "checked" in given) and given.get("type") != "submit":
                self.add(name, given.get("value") or ("on" if box else ""))
        elif tag == "select" and "__prefix__" not in name:
            self.select = name
        elif tag == "option" and self.select and "selected" in given:
            self.add(self.select, given.get("value") or "")
        elif tag == "textarea" and "__prefix__" not in name:
            self.textarea = name
            self.values[name] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self.select = None
        elif tag == "textarea":
            # Browsers drop a line break at the beginning of a textarea.
            if self.textarea:
                self.values[self.textarea] = self.values[self.textarea].removeprefix("\n")
            self.textarea = None

    def handle_data(self, data: str) -> None:
        if self.textarea:
            self.values[self.textarea] = self.values.get(self.textarea, "") + data.replace("\r", "")

    def add(self, name: str, value: str) -> None:
        known = self.values.get(name)
        if known is None:
            self.values[name] = value
        else:
            self.values[name] = [*(known if isinstance(known, list) else [known]), value]


def fields_of(page: Any) -> dict[str, Any]:
    """Return the fields of all forms on a page, without the CSRF token.

    If several fields have the same name, the value for that name is a list.
    """
    parser = Fields()
    parser.feed(page.content.decode())
    return {name: value for name, value in parser.values.items() if name != "csrfmiddlewaretoken"}


def submit(client: Client, address: str, **changes: Any) -> Any:
    """Open a page, assert that its status is 200, change some fields, and submit its form."""
    page = client.get(address)
    assert page.status_code == 200, page.content[-500:]
    return client.post(address, fields_of(page) | changes)
