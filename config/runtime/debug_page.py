"""Django's debug error page, without the environment's secrets.

Django hides settings whose names suggest a secret. It still shows a driver's connection arguments,
URLs that contain a password, and the environment if the web server passes it on.
"""

import html
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from django.conf import settings
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

SHORTEST = 4  # minimum length of a masked secret; a shorter one could be part of an ordinary word


class MaskingReporter(ExceptionReporter):
    """A report with each known secret replaced by asterisks, wherever it occurs."""

    def get_traceback_html(self) -> SafeString:
        """Return the page for a browser."""
        return SafeString(masked(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        """Return the page for other clients."""
        return SafeString(masked(super().get_traceback_text()))


def secrets() -> Iterator[str]:
    """Yield the environment's secrets. Also yields passwords in URL-encoded form."""
    yield settings.SECRET_KEY
    yield from settings.ENCRYPTION_KEYS
    yield from settings.LLM_KEYS.values()
    for password in (settings.EMAIL_HOST_PASSWORD or "", *passwords_of_urls()):
        yield from (password, quote(password, safe=""))


def passwords_of_urls() -> Iterator[str]:
    """Yield the decoded passwords from the database and Redis URLs."""
    for url in (settings.DATABASE_URL, settings.REDIS_URL):
        parts = urlsplit(url)
        yield unquote(parts.password or "")
        yield from (value for name, value in parse_qsl(parts.query) if "pass" in name)


def masked(page: str) -> str:
    """Replace the secrets in a page, including their HTML-escaped and `repr` forms."""
    for secret in sorted({one for one in secrets() if len(one) >= SHORTEST}, key=len, reverse=True):
        for written in (secret, repr(secret)[1:-1]):
            page = page.replace(written, "****").replace(html.escape(written), "****")
    return page
