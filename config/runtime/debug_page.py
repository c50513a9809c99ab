"""Django's page of an error in debug mode, without the secrets of the environment.

Django hides settings by their names. It shows addresses that hold a password, the arguments that
a driver connects with, and the environment, if the web server passes it on.
"""

import html
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from django.conf import settings
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

SHORTEST = 4  # characters; a shorter value would stand in every other word of a page


class MaskingReporter(ExceptionReporter):
    """A report with each known secret replaced by asterisks, wherever it stands."""

    def get_traceback_html(self) -> SafeString:
        """Return the page for a browser."""
        return SafeString(masked(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        """Return the page for other clients."""
        return SafeString(masked(super().get_traceback_text()))


def secrets() -> Iterator[str]:
    """Name the secrets of the environment, as they were written and as they are used."""
    yield settings.SECRET_KEY
    yield from settings.ENCRYPTION_KEYS
    yield from settings.LLM_KEYS.values()
    for password in (settings.EMAIL_HOST_PASSWORD or "", *passwords_of_addresses()):
        yield from (password, quote(password, safe=""))


def passwords_of_addresses() -> Iterator[str]:
    """Name the passwords in the addresses of the servers, decoded."""
    for address in (settings.DATABASE_URL, settings.REDIS_URL):
        parts = urlsplit(address)
        yield unquote(parts.password or "")
        yield from (value for name, value in parse_qsl(parts.query) if "pass" in name)


def masked(page: str) -> str:
    """Replace the secrets in a page; in HTML, and in a literal, they are written otherwise."""
    for secret in sorted({one for one in secrets() if len(one) >= SHORTEST}, key=len, reverse=True):
        for written in (secret, repr(secret)[1:-1]):
            page = page.replace(written, "****").replace(html.escape(written), "****")
    return page
