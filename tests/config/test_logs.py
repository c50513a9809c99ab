"""Log lines: one JSON object each, with secrets masked."""

import json
import logging
import re
import sys
from typing import Any

import pytest

from accounts import keys
from config import logs

SECRET = "correct-horse-battery-staple"


def line(message: str, *args: Any, **extra: Any) -> dict[str, Any]:
    """Write a record as the service's handler does."""
    logger = logging.getLogger("tests")
    record = logger.makeRecord("tests", logging.INFO, __file__, 1, message, args, None, extra=extra)
    for each in (logs.RequestIdFilter(), logs.SecretsFilter()):
        each.filter(record)
    text = logs.JsonFormatter().format(record)
    assert "\n" not in text
    written: dict[str, Any] = json.loads(text)
    return written


@pytest.mark.parametrize(
    "message",
    [
        f"Authorization: Bearer {SECRET}",
        f"'Authorization': 'Bearer {SECRET}'",
        f'{{"X-WEBHOOK-TOKEN": "{SECRET}"}}',
        f"x-webhook-token={SECRET}",
        f"secret={SECRET}",
        f'"secret": "{SECRET}"',
        f"password: {SECRET}",
        f"api_key={SECRET}, and more",
        f"apiKey: '{SECRET}'",
        f"api-key = {SECRET}",
        f"bearer {SECRET}",
    ],
)
def test_what_looks_like_a_secret_is_masked(message: str) -> None:
    written = line(message)["message"]
    assert SECRET not in written
    assert "****" in written


def test_an_api_key_shows_its_public_part_alone() -> None:
    made = keys.make()
    assert line("used %s twice", made.text)["message"] == f"used {made.prefix}**** twice"


@pytest.mark.parametrize(
    "message", ["the secretary's password was reset", "an authorization is missing", "cbk_short"]
)
def test_ordinary_words_stay_readable(message: str) -> None:
    assert line(message)["message"] == message


def test_a_line_says_when_who_and_what() -> None:
    token = logs.request_id.set("named")
    try:
        written = line("delivered %s", 5, delivery="d-1", ms=12, odd=object())
    finally:
        logs.request_id.reset(token)
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{3}Z", written.pop("time"))
    assert written == {
        "level": "INFO",
        "logger": "tests",
        "message": "delivered 5",
        "requestId": "named",
        "delivery": "d-1",
        "ms": 12,
    }


def test_a_trace_is_one_line_and_masked() -> None:
    try:
        raise ValueError(f"password={SECRET}\nsecond line")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    text = logs.JsonFormatter().format(record)
    assert "\n" not in text
    assert SECRET not in text
    assert "second line" in json.loads(text)["trace"]
