"""Log lines as JSON, each with its request's id, and with secrets masked."""

import contextvars
import json
import logging
import re
import time
import traceback
from typing import Any

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")

# Our API keys, bearer tokens of models, and whatever follows the name of a secret
SECRETS = re.compile(
    r"(cbk_[0-9A-Za-z]{8})_[0-9A-Za-z_-]+"
    r"|(\bBearer\s+)\S+"
    r"|(\b(?:x-webhook-token|authorization|secret|password|api[-_]?key)[\"']?\s*[:=]\s*"
    r"[\"']?(?:(?:Bearer|Basic)\s+)?)[^\s\"',}]+",
    re.IGNORECASE,
)
ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request_id"}


def masked(text: str) -> str:
    """Replace what looks like a secret by asterisks."""
    return SECRETS.sub(lambda match: f"{match[1] or match[2] or match[3]}****", text)


class RequestIdFilter(logging.Filter):
    """Give each record the id of the request that it belongs to."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class UnavailableFilter(logging.Filter):
    """Pass one line a second about requests that were answered 503, without a trace."""

    next_at = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) != 503:
            return True
        if (now := time.monotonic()) < self.next_at:
            return False
        self.next_at = now + 1
        record.exc_info = record.exc_text = None
        return True


class SecretsFilter(logging.Filter):
    """Mask secrets in a record's text before any formatter sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = masked(record.getMessage()), ()
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, request id, extras, trace."""

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
        line |= {
            name: value
            for name, value in vars(record).items()
            if name not in ORDINARY and isinstance(value, (str, int, float, bool, type(None)))
        }
        if record.exc_info:
            line["trace"] = masked("".join(traceback.format_exception(*record.exc_info)))
        return json.dumps(line, ensure_ascii=False)
