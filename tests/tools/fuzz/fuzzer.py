"""Send hostile requests, generated from a seed, to every operation, and check the responses."""

import http.client
import json
import random
import re
import time
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote

from chatbots.models import Chatbot, LeadSettings
from tests.conftest import caller
from tests.contract.operations import OPERATIONS, Operation, filled, ids_of
from tests.house.source import ROOT
from tests.servers.processes import Web
from tests.servers.trickling import Trickling

STATUSES = {200, 400, 401, 403, 404, 405, 429}
SLOWEST = 5.0  # maximum response time in seconds
MOST_FAULTS = 20
WORDS = [
    *("", " ", "x", "é" * 40, "x" * 256, "y" * 70_000, "\0", "\u202e", "💥" * 60, "a\nb\r\n"),
    *("' OR 1=1 --", "<script>alert(1)</script>", "{{7*7}}", "../../etc", "%s%n", "#fff", "null"),
    *("0190a000-0000-7000-8000-000000000000", "en", "mandatory", "person@example.com"),
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 101, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308, -0.0),
    *([], {}, [[]], [None], [{}], {"": ""}, {"a": {"b": ["c"]}}, ["x"] * 2_000),
]
# Terminal escapes, and characters that some software treats as the end of a line or a header
CONTROLS = [
    *("\r\nBcc: eve@example.com\r\n\r\n", '"}\n{"level": "ERROR"}', "\x1b[2J"),
    *"\n\t\v\f\x01\x7f\x85\x1c\x1d\x1e\u2028\u2029\u200f\ufeff",
]
RAW = [
    *(
        b"",
        b"{",
        b"[]",
        b"null",
        b"1",
        b'"x"',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe",
        b"{}{}",
        b"{'a': 1}",
    ),
    *(b'{"name": NaN}', b'{"content": 1e999}', b'{"title": "\\ud800"}', b'{"title": "\\u0000"}'),
    *(b'{"title": "a", "title": "b"}', b"[" * 100_000, b'{"a":' * 40 + b"1" + b"}" * 40),
    *(b'{"limit": ' + b"9" * 5_000 + b"}", b'{"content": "' + b"x" * 1_100_000 + b'"}'),
]
TYPES = ["application/json; charset=utf-16", "text/plain", "multipart/form-data", "", "x" * 300]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"]
IDS = ["0", "..", "%00", "\0", "é", "x" * 3_000, "0190a000000070008000000000000000", "{id}", " "]
QUERIES = [
    *("page=0", "page=2&limit=101", "limit=x", "before=1", "limit=1&limit=2", "page", "=1", ";"),
    *("&" * 5_000, "a=1&" * 2_000, "page=1&" * 1_500, "page[]=1&" * 999, "x=" + "y" * 60_000),
    *("limit=%", "limit=%zz", "before=%ff%fe", "page=%00", "page=%0b%1c", "before=%0d%0aX:%20y"),
    *("page=" + "9" * 30, "page=9223372036854775808", "limit=-1", "page=" + "0" * 5_000 + "1"),
    *("page=%EF%BC%95", "limit=1_0", "limit=+5", "limit=5.0", "page=2147483647&limit=100"),
]
KEYS = ["", "x", "k" * 255, "k" * 256, "two words"]


def examples() -> dict[str, dict[str, Any]]:
    """Return the OpenAPI document's example bodies, keyed by operation."""
    document = json.loads((ROOT / "openapi.json").read_text())
    return {
        f"{method.upper()} {shape(path)}": body["content"]["application/json"]["example"]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if (body := operation.get("requestBody"))
    }


def shape(path: str) -> str:
    """Return a path with its parameters replaced by `{}`, such as `/threads/{}`."""
    return re.sub(r"\{\w+\}", "{}", path)


EXAMPLES = examples()


class Sent(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Fuzzer:
    """Sends requests to a running service on behalf of a caller who has rows of every kind."""

    def __init__(self, *, port: int, key: str, chatbot: Chatbot, seed: int) -> None:
        self.dice = random.Random(seed)
        self.port, self.key, self.chatbot = port, key, chatbot
        self.ids = ids_of(chatbot)
        self.statuses: Counter[int] = Counter()
        self.reached: Counter[str] = Counter()  # number of 200 responses for each operation
        self.faults: list[tuple[str, Sent | None]] = []
        self.slowest = 0.0  # seconds

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def value(self, depth: int = 0) -> Any:
        """Draw a JSON value, which may be nested."""
        if depth < 3 and self.chance(0.1):
            return {self.dice.choice(WORDS): self.value(depth + 1) for _ in range(3)}
        return self.dice.choice(WORDS if self.chance(0.5) else VALUES)

    def body(self, operation: Operation) -> bytes:
        """Draw a body: one of RAW, one from `spoiled`, or a valid one with some values replaced."""
        if self.chance(0.15):
            return self.dice.choice(RAW)
        if operation.body and self.chance(0.2):
            return json.dumps(self.spoiled(operation)).encode()
        body = {name: filled(value, self.ids) for name, value in (operation.body or {}).items()}
        for name in [*body, self.dice.choice(["description", "isActive", "tags", "limit"])]:
            if self.chance(0.4):
                body[name] = self.value()
        return json.dumps(body).encode() if body or operation.method != "GET" else b""

    def spoiled(self, operation: Operation) -> dict[str, Any]:
        """Draw a valid body, and append control characters to some of its text fields.

        The body includes the text fields of the documented example. Ids are not changed.
        """
        valid = {name: filled(value, self.ids) for name, value in operation.body.items()}
        known = EXAMPLES[f"{operation.method} /api{shape(operation.path)}"] | valid
        texts = {
            name: value + self.dice.choice(CONTROLS) if self.chance(0.3) else value
            for name, value in known.items()
            if isinstance(value, str) and not name.endswith("Id")
        }
        return valid | texts

    def path(self, operation: Operation) -> str:
        """Draw a path for an operation, sometimes with a bad id, a bad suffix or a query string."""
        ids = dict(self.ids)
        if self.chance(0.15):
            ids[self.dice.choice(list(ids))] = quote(self.dice.choice(IDS), safe="%")
        path = f"/api{operation.path.format(**ids)}"
        if self.chance(0.03):
            path += self.dice.choice(["/", "//", "/..", "%2f", "/x", "?" * 5])
        return f"{path}?{self.dice.choice(QUERIES)}" if self.chance(0.3) else path

    def headers(self) -> dict[str, str]:
        """Draw headers, most of which are valid."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        if self.chance(0.04):
            wrong = ["", "Bearer", f"Bearer {self.key}x", "Basic eDp5", "\xff" * 100]
            headers["Authorization"] = self.dice.choice(wrong)
        if self.chance(0.05):
            headers["Content-Type"] = self.dice.choice(TYPES)
        if self.chance(0.1):
            headers["Idempotency-Key"] = self.dice.choice([*KEYS, str(self.dice.random())])
        if self.chance(0.05):
            headers["X-Forwarded-For"] = self.dice.choice(WORDS[:3])
            headers["X-Request-Id"] = "x" * self.dice.choice([0, 64, 65, 3_000])
        return headers

    def draw(self, operation: Operation) -> Sent:
        """Draw a request to an operation."""
        method = self.dice.choice(METHODS) if self.chance(0.03) else operation.method
        return Sent(method, self.path(operation), self.headers(), self.body(operation))

    def run(self, count: int) -> None:
        """Send requests to all operations in turn, and stop after MOST_FAULTS faults."""
        for number in range(count):
            if len(self.faults) >= MOST_FAULTS:
                return
            if number % 100 == 0:  # restore what earlier requests changed
                Chatbot.objects.filter(pk=self.chatbot.pk).update(is_active=True)
                LeadSettings.objects.get_or_create(chatbot=self.chatbot)
            operation = OPERATIONS[number % len(OPERATIONS)]
            self.send(operation, self.draw(operation))

    def send(self, operation: Operation, sent: Sent) -> None:
        """Send a request and check its response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        began = time.monotonic()
        try:
            with suppress(BrokenPipeError):  # the server may respond before reading a large body
                connection.request(sent.method, sent.path, sent.body or None, sent.headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.faults.append((repr(error), sent))
            return
        finally:
            connection.close()
        self.statuses[answer.status] += 1
        if answer.status == 200 and sent.method == operation.method:
            self.reached[str(operation)] += 1
        taken = time.monotonic() - began
        self.slowest = max(self.slowest, taken)
        if taken > SLOWEST:
            self.faults.append((f"{taken:.1f} s", sent))
        if fault := judged(answer.status, text, headless=sent.method == "HEAD"):
            self.faults.append((fault, sent))


def judged(status: int, text: bytes, *, headless: bool) -> str | None:
    """Return what is wrong with a response, or None if it is correct."""
    if status not in STATUSES:
        return f"status {status}"
    if headless:
        return "HEAD with a body" if text else None
    try:
        body = json.loads(text)
    except ValueError:
        return f"not JSON: {text[:80]!r}"
    if status == 200:
        whole = {"statusCode", "success", "message", "data"} == set(body) and body["success"]
    else:
        whole = body.get("success") is False and isinstance(body.get("message"), str)
    return None if whole else f"no envelope: {text[:80]!r}"


FORGED = re.compile(r'^\{"level"|[\x00-\x09\x0b-\x1f]')  # a forged line or a control character


def fuzz(chatbot: Chatbot, *, count: int, seed: int) -> Fuzzer:
    """Send hostile requests to a running service while slow clients send bodies byte by byte.

    Return the fuzzer, which has collected all faults, including forged log lines.
    """
    key = caller(chatbot.account.owner).key or ""
    path = f"/api/v1/chatbots/chatbot/{chatbot.pk}/conversation-starters"
    with Web() as web:
        with Trickling(web.port, path, key, clients=12) as slow:
            fuzzer = Fuzzer(port=web.port, key=key, chatbot=chatbot, seed=seed)
            fuzzer.run(count)
        for answer in slow.answers:
            if fault := judged(answer.status, answer.body, headless=False):
                fuzzer.faults.append((f"response to a slow body: {fault}", None))
        said = web.said().split("\n")
        fuzzer.faults += [(f"log: {line[:300]!r}", None) for line in said if FORGED.search(line)]
    return fuzzer
