"""JSON log lines with the request, route and caller, and with secrets masked."""

import json
import logging
import re
import threading
import time
import traceback
from typing import Any

from config.runtime.context import current

FACTS = ("route", "key", "user", "account")  # parts of the context that log lines show
# Matches our API keys, bearer tokens, values that follow a secret's name, and passwords in URLs.
SECRETS = re.compile(
    r"(cbk_[0-9A-Za-z]{8})_[0-9A-Za-z_-]+"
    r"|(\bBearer\s+)\S+"
    r"|(\b(?:x-webhook-token|authorization|secret|password|api[-_]?key)[\"']?\s*[:=]\s*"
    r"[\"']?(?:(?:Bearer|Basic)\s+)?)[^\s\"',}]+"
    r"|(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:)[^\s/@]+(?=@)",
    re.IGNORECASE,
)
# Every match contains one of these strings, so the regular expression runs only if one of them is
# found. This search takes one twentieth of the time that the regular expression would take.
MARKS = ("cbk_", "bearer", "token", "authorization", "secret", "password", "key", "://")
logging._srcfile = None  # the documented way to turn off the lookup of each log call's source line
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False

encode = json.JSONEncoder(ensure_ascii=False).encode
ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime", "request_id", "facts", "bounded"),
    *("request", "status_code"),  # added by Django; the access log contains both facts
}
COLORS = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 10_000  # maximum length of a record's text, which can quote a header of any length


def masked(text: str, most: int | None = None) -> str:
    """Replace everything that looks like a secret with asterisks.

    If `most` is given, the text is also cut to that many characters. A secret that crosses the cut
    is still masked, unless it is a password in a URL and ends more than `most` characters later.
    """
    searched = text if most is None else text[: 2 * most]
    folded = searched.casefold()
    if not any(mark in folded for mark in MARKS):
        return searched[:most]
    parts, end = [], 0
    for match in SECRETS.finditer(searched):
        if most is not None and match.start() >= most:
            break
        before, end = searched[end : match.start()], match.end()
        parts.append(f"{before}{match[1] or match[2] or match[3] or match[4]}****")
    return "".join([*parts, searched[end:most]])


class RequestFilter(logging.Filter):
    """Add the request's id and the known FACTS to each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        known = current.get()
        record.request_id = known.request_id
        record.facts = {name: fact for name in FACTS if (fact := getattr(known, name))}
        return True


class UnavailableFilter(logging.Filter):
    """Let through at most one access log line per second about 503 responses."""

    next_at = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != "access" or getattr(record, "status", None) != 503:
            return True
        if (now := time.monotonic()) < self.next_at:
            return False
        self.next_at = now + 1
        return True


class ToldFilter(logging.Filter):
    """Drop Django's lines that repeat the access log.

    These lines are about a 503 response or have no stack trace. Django writes most of them after
    the request has ended, so they contain no request id.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(record.exc_info) and getattr(record, "status_code", 0) != 503


class BoundFilter(logging.Filter):
    """Let through a few of the lines that any client can trigger, and sum up the rest in one line.

    Any client can trigger records marked as `bounded`, and records about requests that Django
    refuses, for example because of an unknown Host header.
    """

    MOST, WINDOW = 10, 10.0  # limit on lines of each kind per window; window length in seconds

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.seen: dict[tuple[str, int], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        refused = record.name.startswith("django.security")
        if refused:
            record.exc_info = record.exc_text = None  # the trace shows only Django's own code
        if not (refused or getattr(record, "bounded", False)):
            return True
        kind = (record.name, getattr(record, "status", 0))
        with self.lock:
            self.seen[kind] = seen = self.seen.get(kind, 0) + 1
        if seen == 1:
            timer = threading.Timer(self.WINDOW, self.sum_up, kind)
            timer.daemon = True
            try:
                timer.start()
            except RuntimeError:  # no thread can be started; try again with the next log line
                with self.lock:
                    del self.seen[kind]
        return seen <= self.MOST

    def sum_up(self, name: str, status: int) -> None:
        """End a window, and log how many of its lines were suppressed."""
        with self.lock:
            left_out = self.seen.pop((name, status)) - self.MOST
        if left_out > 0:
            extra = {"leftOut": left_out} | ({"status": status} if status else {})
            words = "%d more lines from %s within %g s were suppressed"
            logging.getLogger(__name__).warning(words, left_out, name, self.WINDOW, extra=extra)


class SecretsFilter(logging.Filter):
    """Shorten a record's text, and mask secrets in it, before any formatter sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = masked(record.getMessage(), LONGEST), ()
        return True


class JsonFormatter(logging.Formatter):
    """Format a record as one line of JSON: time, level, logger, message, request, extras, trace."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if known := getattr(record, "request_id", ""):
            line["requestId"] = known
        line |= getattr(record, "facts", {})
        line |= {
            name: value
            for name, value in vars(record).items()
            if name not in ORDINARY and isinstance(value, (str, int, float, bool, type(None)))
        }
        if record.exc_info:
            line["trace"] = masked("".join(traceback.format_exception(*record.exc_info)))
        return encode(line)


class LogStream:
    """A text stream that logs what is written to it.

    It has no file descriptor, so no writer can bypass the log.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self.logger = logger

    def write(self, text: str) -> int:
        """Log a string without its terminal colors."""
        if words := COLORS.sub("", text).strip():
            self.logger.info(words)
        return len(text)

    def flush(self) -> None:
        """Do nothing, because each string is logged immediately."""


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request": {"()": RequestFilter},
        "told": {"()": ToldFilter},
        "unavailable": {"()": UnavailableFilter},
        "bound": {"()": BoundFilter},
        "secrets": {"()": SecretsFilter},
    },
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["unavailable", "bound", "request", "secrets"],
            "formatter": "json",
        }
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO"},
        "django.request": {"filters": ["told"]},
        "django.server": {"handlers": [], "propagate": True},
        "urllib3": {"level": "ERROR"},  # its warnings quote whole URLs
        "psycopg.pool": {"level": "ERROR"},  # warns about each failed attempt to connect
        "celery": {"level": "WARNING"},
        "kombu": {"level": "WARNING"},
    },
}
