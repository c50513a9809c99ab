"""Each log line is a single JSON object, in which secrets are masked."""

import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts import keys
from chatbots.models import Chatbot
from config.database.ids import new_id
from config.runtime import logs
from config.runtime.context import Context, acting
from tests.conftest import Api
from tests.factories.staff import signed_in, superuser
from tests.house.source import ROOT
from tests.patience import PATIENCE

SECRET = "correct-horse-battery-staple"


def line(message: str, *args: Any, **extra: Any) -> dict[str, Any]:
    """Format a record as the service's handler does, and return the fields of its single line."""
    logger = logging.getLogger("tests")
    record = logger.makeRecord("tests", logging.INFO, __file__, 1, message, args, None, extra=extra)
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
        f"cannot reach postgresql://user:{SECRET}@127.0.0.1:5432/name",
        f"Internal Server Error: /password-reset/MDFhMg/{SECRET}",
        f"GET /invitation?token={SECRET}",
        f"cannot reach redis://:{SECRET}@127.0.0.1/0",
    ],
)
def test_text_that_looks_like_a_secret_is_masked(message: str) -> None:
    written = line(message)["message"]
    assert SECRET not in written
    assert "****" in written


@pytest.mark.parametrize("length", [logs.LONGEST - 50, 300_000])
def test_a_long_text_is_cut_and_shows_no_part_of_a_secret(length: int) -> None:
    written = line("x" * length + f" redis://:{SECRET}@127.0.0.1/0 " + "x" * length)["message"]
    assert len(written) <= logs.LONGEST
    assert SECRET[:5] not in written


def test_only_the_public_part_of_an_api_key_is_shown() -> None:
    made = keys.make()
    assert line("used %s twice", made.text)["message"] == f"used {made.prefix}**** twice"


@pytest.mark.parametrize(
    "message",
    [
        "the secretary's password was reset",
        "an authorization is missing",
        "cbk_short",
        "GET /password-reset/<uidb64>/<token>: 200 in 3 ms",
    ],
)
def test_ordinary_words_stay_readable(message: str) -> None:
    assert line(message)["message"] == message


def test_a_line_has_its_time_level_logger_message_and_details() -> None:
    with acting(Context(request_id="named")):
        written = line(
            "delivered %s", 5, delivery="d-1", ms=12, odd=object(), url=f"password={SECRET}"
        )
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{3}Z", written.pop("time"))
    assert written == {
        "level": "INFO",
        "logger": "tests",
        "message": "delivered 5",
        "requestId": "named",
        "delivery": "d-1",
        "ms": 12,
        "url": "password=****",
    }


def test_a_traceback_is_one_masked_line() -> None:
    try:
        raise ValueError(f"password={SECRET}\nsecond line")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    text = logs.JsonFormatter().format(record)
    assert "\n" not in text
    assert SECRET not in text
    assert "second line" in json.loads(text)["trace"]


class Lines:
    """Captures log lines through a handler with the service's formatter."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(logs.JsonFormatter())

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    written = Lines()
    logging.getLogger().addHandler(written.handler)
    yield written
    logging.getLogger().removeHandler(written.handler)


CANARY = "canary in a body"


def calls(api: Api, chatbot: Chatbot) -> list[tuple[int, str, dict[str, str]]]:
    """Send many kinds of requests, and return what their log lines must contain.

    Each item consists of the status, the route and the caller.
    """
    bot = "/api/v1/chatting/<str:chatbot_id>"
    path = f"/v1/chatting/{chatbot.pk}/threads"
    key = {"key": keys_of(api)}
    both = key | {"account": str(chatbot.account_id)}
    stranger = {"address": "127.0.0.1"}
    api.get("/v1/chatbots/my-chatbots")
    api.post(path, {"visitorName": CANARY})
    api.post(path, {"visitorName": [CANARY]})
    api.delete(path)
    api.get(f"{path}?page={CANARY}")
    api.get(f"/v1/chatting/{new_id()}/threads")
    api.get("/v1/nowhere")
    Api(None).get(path)
    Client().get("/healthz")  # probes are not logged
    return [
        (200, "GET /api/v1/chatbots/my-chatbots", key),
        (200, f"POST {bot}/threads", both),
        (400, f"POST {bot}/threads", both),
        (405, f"DELETE {bot}/threads", key),
        (400, f"GET {bot}/threads", both),
        (404, f"GET {bot}/threads", key),
        (404, "GET -", stranger),
        (401, f"GET {bot}/threads", stranger),
    ]


def keys_of(api: Api) -> str:
    return str(api.key)[:12]


@pytest.mark.parametrize("access_log", [True, False])
def test_every_request_has_one_line_with_its_route_and_caller(
    api: Api, chatbot: Chatbot, lines: Lines, settings: Any, access_log: bool
) -> None:
    settings.ACCESS_LOG = access_log
    expected = [one for one in calls(api, chatbot) if access_log or one[0] >= 400]
    written = [line for line in lines.read() if line["logger"] == "access"]
    assert [(line["status"], line["route"]) for line in written] == [one[:2] for one in expected]
    for line, (_, _, caller) in zip(written, expected, strict=True):
        named = {name: line[name] for name in ("key", "account", "address") if name in line}
        assert named == caller
        assert len(line["requestId"]) == 32
        assert line["ms"] >= 0
        assert line["level"] == ("WARNING" if line["status"] >= 400 else "INFO")
    assert "canary" not in lines.stream.getvalue()


def test_a_request_for_an_admin_page_names_the_user(db: None, lines: Lines) -> None:
    person = superuser()
    signed_in(person).get("/admin/")
    [line] = [line for line in lines.read() if line["logger"] == "access"]
    assert (line["status"], line["route"], line["user"]) == (200, "GET /admin/", str(person.pk))


def test_a_line_within_a_request_contains_the_known_context(lines: Lines) -> None:
    with acting(Context(request_id="named", key="cbk_12345678")):
        logging.getLogger("tests").warning("something")
    logging.getLogger("tests").warning("later")
    first, second = lines.read()
    assert (first["requestId"], first["key"]) == ("named", "cbk_12345678")
    assert not {"requestId", "key"} & set(second)


def test_an_unknown_host_causes_one_line_and_no_traceback(db: None, lines: Lines) -> None:
    assert Client().get("/docs", headers={"Host": "evil.example"}).status_code == 400
    [line] = lines.read()
    assert (line["logger"], line["status"]) == ("access", 400)


# Uses up the file descriptors, then sends requests in a thread, which has no database connection.
WITHOUT_FILES = """
import os, resource, threading
import django
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
django.setup()
import config.wsgi
from django.test import Client

client = Client(headers={"Host": "localhost"})
client.get("/nowhere")
try:
    while True:
        os.open(os.devnull, os.O_RDONLY)
except OSError:
    pass

def send():
    for path in ("/healthz", "/nowhere", "/api/v1/chatbots", "/readyz"):
        print(client.get(path).status_code)

thread = threading.Thread(target=send)
thread.start()
thread.join()
"""


def test_a_process_without_file_descriptors_still_logs_and_responds(tmp_path: Path) -> None:
    embedded = {"STATE_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)} | embedded
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FILES],
        env=environment | {"ENV_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.split() == ["200", "404", "401", "503"], done.stderr
