"""Compare the speed of the API with that of the floor, in requests per second.

The floor (tests/tools/bench/floor) is a minimal server that answers the same requests. Each round
measures both servers. The server that goes first alternates between rounds.
"""

import re
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db.models import Count, F

from conversations.models import Message, Thread
from tests.servers.processes import Web
from tests.tools.bench import rows, wire
from tests.tools.bench.rows import Rows
from tests.tools.bench.servers import Floor, cpu_seconds, service
from tests.tools.bench.wire import Heard

CONNECTIONS, ROUNDS, SECONDS = 8, 6, 3.0
QUESTION = "Where is my parcel? I was told that it would be here on Tuesday."
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# Fields whose values may differ between correct responses to a write, and a check for each field
VARYING: dict[str, Callable[[Any], object]] = {
    "id": lambda value: ID.fullmatch(value),
    "parentMessageId": lambda value: value is None or ID.fullmatch(value),
    "threadId": lambda value: ID.fullmatch(value),
    "contentTimestamp": lambda value: TIME.fullmatch(value),
    "createdAt": lambda value: TIME.fullmatch(value),
    "updatedAt": lambda value: TIME.fullmatch(value),
    "unreadMessagesCount": lambda value: type(value) is int,
}


@dataclass(frozen=True)
class Call:
    """A measured request. `paths` contains one shared path, or one path for each connection."""

    name: str
    method: str
    paths: tuple[str, ...]
    body: Any = None

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    def requests(self, key: str) -> list[bytes]:
        return [
            wire.request(self.method, self.paths[number % len(self.paths)], key, self.body)
            for number in range(CONNECTIONS)
        ]


def calls(made: Rows) -> list[Call]:
    chat = f"/v1/chatting/{made.chatbot}"
    there = f"/v1/chatbots/account/{made.account}/chatbot/{made.chatbot}"
    sends = tuple(f"{chat}/thread/{thread}/message" for thread in made.threads)
    return [
        Call("GET history", "GET", (f"{chat}/thread/{made.thread}/messages",)),
        Call("GET threads", "GET", (f"{chat}/threads",)),
        Call("GET my-chatbots", "GET", ("/v1/chatbots/my-chatbots",)),
        Call("GET lead-settings", "GET", (f"/v1/chatbots/chatbot/{made.chatbot}/lead-settings",)),
        Call("PATCH chatbot", "PATCH", (there,), {"description": "answers questions"}),
        Call("POST message", "POST", sends, {"content": QUESTION}),
    ]


class WrongAnswer(AssertionError):
    """Raised if a response is wrong, because the figures would then be meaningless."""


def check(call: Call, mine: list[bytes], other: list[bytes]) -> None:
    """Check that both servers gave the same responses. Raises WrongAnswer if they differ."""
    expected, *rest = [comparable(call, body) for body in (*other, *mine)]
    for body in rest:
        if body != expected:
            raise WrongAnswer(f"{call.name}: {body} is not {expected}")


def comparable(call: Call, body: bytes) -> Any:
    """Parse a response. For a write, replace each valid value of a VARYING field with its name."""
    return settled(orjson.loads(body)) if call.writes else orjson.loads(body)


def settled(value: Any) -> Any:
    if isinstance(value, list):
        return [settled(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: name if name in VARYING and VARYING[name](each) else settled(each)
        for name, each in value.items()
    }


@dataclass
class Role:
    """One of the two servers (the service or the floor), and its figures from each round."""

    server: Web
    a_second: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    load_ms: list[float] = field(default_factory=list)

    def run(self, call: Call, key: str, seconds: float) -> Heard:
        before = cpu_seconds(self.server)
        heard = wire.load(self.server.port, call.requests(key), seconds, kept=call.writes)
        if heard.wrong:
            raise WrongAnswer(f"{call.name}: {heard.wrong[0][:600]!r}")
        self.a_second.append(heard.a_second)
        self.cpu_ms.append(1000 * (cpu_seconds(self.server) - before) / heard.responses)
        self.load_ms.append(1000 * heard.cpu_seconds / heard.responses)
        return heard


def compare(call: Call, key: str, servers: tuple[Web, Web], *, size: float) -> dict[str, Any]:
    """Measure a request on both servers in alternating order. Returns the figures."""
    floor, ours = roles = [Role(server) for server in servers]
    for role in roles:  # warm up connections, caches and prepared statements
        role.run(call, key, 0.5 * size)
        role.a_second.clear()
        role.cpu_ms.clear()
        role.load_ms.clear()
    for number in range(max(2, round(ROUNDS * size))):
        turn = roles if number % 2 else roles[::-1]
        heard = [role.run(call, key, SECONDS * size) for role in turn]
        check(call, heard[0].bodies, heard[1].bodies)
    ratios = [mine / theirs for mine, theirs in zip(ours.a_second, floor.a_second, strict=True)]
    return {
        "floor_a_second": statistics.median(floor.a_second),
        "service_a_second": statistics.median(ours.a_second),
        "ratio": statistics.median(ratios),
        "ratio_least": min(ratios),
        "ratio_most": max(ratios),
        "floor_cpu_ms": statistics.median(floor.cpu_ms),
        "service_cpu_ms": statistics.median(ours.cpu_ms),
        "load_cpu_ms": statistics.median(floor.load_ms),
    }


def check_history() -> None:
    """Raise WrongAnswer if a thread has more or fewer messages than its counter says."""
    counts = Thread.objects.annotate(stored=Count("messages"))
    if counts.exclude(last_position=F("stored")).exists():
        raise WrongAnswer("a thread has more or fewer messages than its counter says")


def measure(size: float) -> dict[str, Any]:
    """Compare the service with the floor. Returns the figures for each request.

    Asserts that POST message stores messages and that the other requests do not.
    """
    made = rows.make(connections=CONNECTIONS)
    figures = {}
    with ExitStack() as stack:
        servers = (stack.enter_context(Floor()), stack.enter_context(service()))
        for call in calls(made):
            before = Message.objects.count()
            found = compare(call, made.key, servers, size=size)
            check_history()
            assert (Message.objects.count() > before) is (call.name == "POST message")
            figures[call.name] = found
            print(f"  {call.name:18} " + line(figures[call.name]), flush=True)  # noqa: T201
    return figures


def line(found: dict[str, Any]) -> str:
    return (
        f"{found['service_a_second']:7.0f} : {found['floor_a_second']:7.0f} a second ="
        f" {found['ratio']:.3f} ({found['ratio_least']:.3f} to {found['ratio_most']:.3f}),"
        f" CPU {found['service_cpu_ms']:.2f} : {found['floor_cpu_ms']:.2f} ms"
        f" (load {found['load_cpu_ms']:.3f})"
    )
