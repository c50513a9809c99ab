"""JSON log lines with the request, route and caller, and with secrets masked."""

import json
import logging
import re
import time
from typing import Any

from config.runtime.context import current

FACTS = ("route", "key", "user", "account")  # parts of the context that log lines show
# Matches our API keys, bearer tokens, values that follow a secret's name, passwords in URLs, and
# the tokens in the links of invitations and of emails that set a password.
SECRETS = re.compile(
    r"(?P<key>cbk_[0-9A-Za-z]{8})_[0-9A-Za-z_-]+"
    r"|(?P<bearer>\bBearer\s+)\S+"
    r"|(?P<name>\b(?:x-webhook-token|authorization|secret|password|api[-_]?key)[\"']?\s*[:=]\s*"
    r"[\"']?(?:(?:Bearer|Basic)\s+)?)[^\s\"',}]+"
    r"|(?P<url>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:)[^\s/@]+(?=@)"
    r"|(?P<link>/invitation\?token=|/password-reset/[^\s/<]+/)[^\s\"']+",
    re.IGNORECASE,
)
ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime"),
    *("request", "status_code"),  # added by Django; the access log contains both facts
}
LONGEST = 10_000  # maximum length of a record's text, which can quote a header of any length


def masked(text: str) -> str:
    """Replace everything that looks like a secret with asterisks."""
    return SECRETS.sub(lambda match: f"{match[match.lastgroup or 0]}****", text)


class JsonFormatter(logging.Formatter):
    """Format a record as one line of JSON: time, level, logger, message, request, extras, trace."""

    def format(self, record: logging.LogRecord) -> str:
        known = current.get()
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": masked(record.getMessage())[:LONGEST],
        }
        if known.request_id:
            line["requestId"] = known.request_id
        line |= {name: fact for name in FACTS if (fact := getattr(known, name))}
        line |= {
            name: masked(value) if isinstance(value, str) else value
            for name, value in vars(record).items()
            if name not in ORDINARY and isinstance(value, (str, int, float, bool, type(None)))
        }
        if record.exc_info:
            line["trace"] = masked(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO"},
        "django.server": {"handlers": [], "propagate": True},
        # The access log has a line for each request, and `config.api.errors` logs its errors.
        "django.request": {"level": "CRITICAL"},
        "django.security": {"level": "CRITICAL"},
        "urllib3": {"level": "ERROR"},  # its warnings quote whole URLs
        "psycopg.pool": {"level": "ERROR"},  # warns about each failed attempt to connect
        "celery": {"level": "WARNING"},
        "kombu": {"level": "WARNING"},
    },
}
