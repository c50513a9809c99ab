"""Soak test of model fallback: the second model replies in time if the first one fails.

Visitors write to bots whose first model fails on every second request. The service skips a model
only after several failures in a row, so it never skips the first model. When the model fails, it
responds with an error or invalid data, closes or resets the connection, hangs, or sends its reply
too slowly. The visitor must then receive the second model's reply within LLM_TIMEOUT + SLACK
seconds. The share of failures after which this happens must be at least ANSWERED.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import orjson
import requests

from tests.servers.behaviors import Arrival, Step, answer, hang_up, reset, stall
from tests.servers.model import ModelServer, dripping, failing, saying
from tests.tools.soak.ground import Ground
from tests.tools.soak.listener import Listener

LLM_TIMEOUT = 4.0  # value of this setting in the service under test, in seconds
SLACK = 1.0  # maximum time in seconds for the service's own work, even on a busy machine
BOTS = 8  # number of chatbots; each has its own model and one visitor
ANSWERED = 0.99
FAULTS = {
    "500": answer(500, b"broken"),
    "503": answer(503, b"", "Retry-After: 30"),
    "429": failing(429, {"code": "rate_limit_exceeded"}, "Retry-After: 30"),
    "401": failing(401, {"code": "invalid_api_key"}),
    "not JSON": answer(200, b"not json"),
    "empty reply": saying(""),
    "connection closed": hang_up(),
    "connection reset": reset(),
    "silence": stall(),
    "dripping": dripping("much too slow", gap=0.2),
}


class Faulty(ModelServer):
    """Models, each of which fails on every second request. The failures cycle through FAULTS."""

    def __init__(self) -> None:
        super().__init__()
        self.met: dict[str, str] = {}  # faults, keyed by message text
        self.asked: Counter[str] = Counter()  # request counts, keyed by model name
        self.faults = count()
        self.say(self.behave)

    def behave(self, arrival: Arrival) -> Iterator[Step]:
        question = orjson.loads(arrival.body)
        name, content = question["model"], question["messages"][-1]["content"]
        self.asked[name] += 1
        if self.asked[name] % 2:
            self.met.pop(content, None)  # a request repeated after a hang-up succeeds
            yield from saying("first")(arrival)
            return
        fault = list(FAULTS)[next(self.faults) % len(FAULTS)]
        self.met[content] = fault
        yield from FAULTS[fault](arrival)


class Visitors:
    """Visitors who send messages until the first model has failed often enough."""

    def __init__(self, ground: Ground, made: dict[str, Any], faulty: Faulty, faults: int) -> None:
        self.base, self.faulty, self.faults = (
            f"{ground.web.address}/api/v1/chatting",
            faulty,
            faults,
        )
        self.headers = {"Authorization": f"Bearer {made['key']}"}
        self.bots: list[str] = made["chatbots"]
        self.told: dict[str, tuple[str, float]] = {}  # replies and durations, keyed by message text
        self.failed: list[str] = []
        self.stopping = threading.Event()

    def write(self, number: int) -> None:
        bot, session = self.bots[number], requests.Session()
        session.headers.update(self.headers)
        made = session.post(f"{self.base}/{bot}/threads", json={}, timeout=60).json()
        thread = made["data"]["thread"]["id"]
        for turn in count():
            if self.stopping.is_set() or len(self.faulty.met) >= self.faults:
                return
            content, began = f"Question {number}/{turn}?", time.monotonic()
            said = session.post(
                f"{self.base}/{bot}/thread/{thread}/message", json={"content": content}, timeout=60
            )
            if not said.ok:
                self.failed.append(str(said.status_code))
                continue
            reply = said.json()["data"]["messages"][-1]["content"]
            self.told[content] = (reply, time.monotonic() - began)


def run(ground: Ground, *, faults: int, ceiling: float) -> dict[str, Any]:
    """Run the soak until the first model has failed `faults` times, and return the report.

    Raise NotInTime if this takes more than `ceiling` seconds.
    """
    began = time.monotonic()
    wait = partial(ground.wait, deadline=began + ceiling)
    with ExitStack() as stack:
        listener = stack.enter_context(Listener(BOTS))
        first, second = stack.enter_context(Faulty()), stack.enter_context(ModelServer())
        second.say(saying("second"))
        ground.web.environment |= {"LLM_TIMEOUT": str(LLM_TIMEOUT)}
        made = ground.furnish(listener.urls)
        for process in ground.processes:
            process.start()
        wait(ground.web.answers, "the web server")
        ground.run("-m", "tests.tools.soak.two_models", first.base_url, second.base_url)
        visitors = Visitors(ground, made, first, faults)
        senders = [threading.Thread(target=visitors.write, args=(n,)) for n in range(BOTS)]
        stack.callback(visitors.stopping.set)  # stop the visitors even if time runs out
        for sender in senders:
            sender.start()
        wait(lambda: not any(sender.is_alive() for sender in senders), "the faults")
    return report(ground, visitors, first.met) | {"seconds": round(time.monotonic() - began, 1)}


# Any: JSON
def report(ground: Ground, visitors: Visitors, met: dict[str, str]) -> dict[str, Any]:
    """Return a report that counts replies, faults and missed replies, and lists violations."""
    missed: Counter[str] = Counter()
    slowest = 0.0
    for content, fault in met.items():
        reply, seconds = visitors.told.get(content, ("", 0.0))
        slowest = max(slowest, seconds)
        if reply != "second" or seconds > LLM_TIMEOUT + SLACK:
            missed[fault] += 1
    share = 1 - missed.total() / max(1, len(met))
    violations = [f"the API answered {one}" for one in visitors.failed]
    if share < ANSWERED:
        violations.append(f"the second model answered only {share:.1%}")
    return {
        "installation": ground.name,
        "messages": len(visitors.told),
        "replies": dict(Counter(reply for reply, _ in visitors.told.values())),
        "faults_at_the_first_model": dict(Counter(met.values())),
        "answered_by_the_second_in_time": round(share, 4),
        "missed": dict(missed),
        "slowest_seconds": round(slowest, 2),
        "violations": violations,
    }
