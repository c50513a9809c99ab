"""Soak test of replies: each message has one outcome, even if a process dies during a model call.

Visitors send messages in several conversation threads. Some of these threads are escalated to staff
and later returned to the AI. Meanwhile, the web server is killed, stopped with SIGTERM or halted
with SIGSTOP, and workers are killed. On installations with PostgreSQL, PostgreSQL also crashes. In
the end, each message has exactly one outcome: a reply (from the model or the fallback), a draft, or
an escalation that explains why there is no reply.
"""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import orjson
import requests

from tests.servers.behaviors import Arrival, Behavior, Step, answer, stall
from tests.servers.model import ModelServer, saying
from tests.servers.processes import wait_until
from tests.tools.soak import ledger
from tests.tools.soak.faults import STOPPED_WITHIN, Fault, Lane, lanes_of
from tests.tools.soak.ground import Ground
from tests.tools.soak.listener import Listener

LLM_TIMEOUT = 6.0  # value of this setting in the service under test, in seconds
SENDERS, THREADS, BOTS = 32, 48, 4
WITH_PEOPLE = 4  # only every fourth thread can be escalated and later returned to the AI
HANDED_OVER_FOR = 3.0  # time until an escalated thread is returned to the AI, in seconds
# Maximum time in seconds from a message to an escalation that explains why it has no reply
EXCUSED_FOR = 40.0
KINDS = ("web killed", "web stopped", "web halted", "worker killed")
OF_SERVERS = ("postgres crashed",)
OWED = "SELECT count(*) FROM conversations_owedreply"
MESSAGES = """SELECT m.thread_id, m.position, m.id, m.message_type, m.system_message_type,
    m.parent_message_id, m.created_at, m.llm_model_id IS NOT NULL, d.id IS NOT NULL
FROM conversations_message m LEFT JOIN conversations_draft d ON d.message_id = m.id
ORDER BY m.thread_id, m.position"""


@dataclass
class Seen:
    """The responses that visitors received, and the requests that the model received."""

    answers: Counter[str] = field(default_factory=Counter)
    replied: dict[str, str | None] = field(default_factory=dict)  # reply ids, keyed by message id
    asked: Counter[str] = field(default_factory=Counter)
    stopping: threading.Event = field(default_factory=threading.Event)


class Moody(ModelServer):
    """A model that takes up to three seconds to reply, and that sometimes fails or hangs."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen
        self.say(self.behave)

    def behave(self, arrival: Arrival) -> Iterator[Step]:
        content = orjson.loads(arrival.body)["messages"][-1]["content"]
        self.seen.asked[content] += 1
        rng = random.Random(content)
        broken: list[Behavior] = [answer(500), stall()]
        mood = rng.choice(broken) if rng.random() < 0.05 else None
        yield from (mood or saying(f"re: {content}", delay=rng.uniform(0.3, 3.0)))(arrival)


class Visitors:
    """Visitors who send messages. Half of them send a message again if the request fails."""

    def __init__(self, ground: Ground, made: dict[str, Any], seen: Seen, seed: int) -> None:
        self.base, self.seen, self.seed = f"{ground.web.address}/api/v1/chatting", seen, seed
        self.headers = {"Authorization": f"Bearer {made['key']}"}
        self.bots: list[str] = made["chatbots"]
        self.threads: list[str] = []

    def open(self) -> None:
        for number in range(THREADS):
            bot = self.bots[number % len(self.bots)]
            made = self.call("POST", f"{bot}/threads", {})
            self.threads.append(f"{bot}/thread/{made['thread']['id']}")

    # Any: JSON
    def call(self, method: str, path: str, body: Any, name: str = "") -> Any:
        headers = self.headers | ({"Idempotency-Key": name} if name else {})
        try:
            said = requests.request(
                method, f"{self.base}/{path}", json=body, headers=headers, timeout=120
            )
        except requests.RequestException as error:
            self.seen.answers[type(error).__name__] += 1
            return None
        self.seen.answers[str(said.status_code)] += 1
        return said.json()["data"] if said.ok else None

    def write(self, number: int) -> None:
        rng = random.Random(f"{self.seed}/{number}")
        for count in range(1_000_000):
            if self.seen.stopping.is_set():
                return
            path, content = rng.choice(self.threads), f"Question {number}/{count}?"
            name = f"{number}/{count}" if number % 2 else ""
            told = self.call("POST", f"{path}/message", {"content": content}, name)
            while told is None and not self.seen.stopping.wait(0.3) and name:
                told = self.call("POST", f"{path}/message", {"content": content}, name)
            if told:
                first, *rest = told["messages"]
                self.seen.replied[first["id"]] = rest[0]["id"] if rest else None

    def ask_for_people(self) -> None:
        rng = random.Random(f"{self.seed}/people")
        while not self.seen.stopping.wait(0.5):
            path = rng.choice(self.threads[::WITH_PEOPLE])
            if self.call("PATCH", f"{path}/escalate", None):
                self.seen.stopping.wait(HANDED_OVER_FOR)
                while not self.call("PATCH", f"{path}/escalate", None):
                    if self.seen.stopping.wait(0.3):
                        return


class Faults:
    """Causes faults in the processes of an installation."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def make(self, fault: Fault) -> None:
        web = self.ground.web
        if fault.kind == "web killed":
            web.kill()
        elif fault.kind == "web stopped":
            web.signal(signal.SIGTERM)
            web.wait(STOPPED_WITHIN)
        elif fault.kind == "web halted":
            web.signal_all(signal.SIGSTOP)
            time.sleep(fault.scaled(1.0, 14.0))
            web.signal_all(signal.SIGCONT)
            return
        elif fault.kind == "worker killed":
            worker = self.ground.workers[int(fault.size * len(self.ground.workers))]
            worker.kill()
            worker.start()
            return
        else:
            assert self.ground.postgres
            self.ground.postgres.crash()
            time.sleep(fault.scaled(0.0, 8.0))
            self.ground.postgres.start()
            return
        web.start()
        wait_until(web.answers, told=web.said)


def draw(ground: Ground, *, messages: int, faults: int, seed: int) -> list[Fault]:
    """Draw faults of all kinds, each of which is due after a random number of sent messages."""
    rng = random.Random(f"{seed}/replies")
    kinds = KINDS + (OF_SERVERS if ground.postgres else ())
    moments = sorted(rng.uniform(0.02, 0.95) * messages for _ in range(faults))
    drawn = [kinds[number % len(kinds)] for number in range(faults)]
    rng.shuffle(drawn)
    return [
        Fault(number, kind, kind.partition(" ")[0], moment, rng.random())
        for number, (kind, moment) in enumerate(zip(drawn, moments, strict=True), 1)
    ]


def run(ground: Ground, *, messages: int, faults: int, seed: int, ceiling: float) -> dict[str, Any]:
    """Run the soak, and return its report.

    Visitors send messages until at least `messages` of them have received a response and all faults
    are over. The soak then waits for the replies that are still owed. Raise NotInTime if it does
    not end within `ceiling` seconds.
    """
    began, seen = time.monotonic(), Seen()
    wait = partial(ground.wait, deadline=began + ceiling)
    with ExitStack() as stack:
        listener = stack.enter_context(Listener(BOTS))
        model = stack.enter_context(Moody(seen))
        for process in ground.processes:
            process.environment |= {"LLM_TIMEOUT": str(LLM_TIMEOUT)}
        ground.web.environment |= {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "m"}
        visitors = Visitors(ground, ground.furnish(listener.urls), seen, seed)
        for process in ground.processes:
            process.start()
        wait(ground.web.answers, "the web server")
        visitors.open()
        drawn = draw(ground, messages=messages, faults=faults, seed=seed)
        lanes = lanes_of(drawn, Faults(ground).make, now=lambda: len(seen.replied))
        senders = [threading.Thread(target=visitors.write, args=(n,)) for n in range(SENDERS)]
        threads = [*lanes, *senders, threading.Thread(target=visitors.ask_for_people)]
        stack.callback(seen.stopping.set)  # stop the visitors even if time runs out
        for thread in threads:
            thread.start()
        wait(
            lambda: len(seen.replied) >= messages and not any(x.is_alive() for x in lanes),
            "the messages and the faults",
        )
        seen.stopping.set()
        for thread in threads:
            thread.join()
        wait(lambda: ground.ledger.number(OWED) == 0, "the owed replies")
    for process in ground.processes:
        process.stop()
    return report(ground, seen, drawn, lanes) | {"seconds": round(time.monotonic() - began, 1)}


# In this function and those below, Any stands for database rows and JSON values.
def report(
    ground: Ground, seen: Seen, drawn: Sequence[Fault], lanes: Sequence[Lane]
) -> dict[str, Any]:
    """Return a report with the outcomes of the messages, several counts, and the violations."""
    rows = ground.ledger.rows(MESSAGES)
    ends: Counter[str] = Counter()
    violations = [lane.error for lane in lanes if lane.error]
    for _, thread in groupby(rows, key=lambda row: row[0]):
        judge_thread([said(*row[1:]) for row in thread], ends, seen, violations)
    if without_event := ground.ledger.number(ledger.WITHOUT_EVENT):
        silent = sum(row[3] == "SYSTEM_MESSAGE" for row in rows)
        if without_event != silent:
            violations.append(f"{without_event - silent} messages have no event")
    allowed = {"200", "429", "503", "ConnectionError", "ReadTimeout", "ChunkedEncodingError"}
    violations += [f"the API answered {one}" for one in seen.answers.keys() - allowed]
    violations += ground.gaps()
    return {
        "installation": ground.name,
        "messages": ends.total(),
        "ends": dict(ends),
        "answers_of_the_api": dict(seen.answers),
        "model_calls": seen.asked.total(),
        "asked_again": sum(count - 1 for count in seen.asked.values()),
        "faults": dict(Counter(one.kind for one in drawn)),
        "violations": violations,
    }


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a thread. `at` is when it was created, in seconds since 1970."""

    position: int
    id: str
    kind: str
    system: str | None
    parent: str | None
    at: float
    of_model: bool
    has_draft: bool


def said(position: int, pk: Any, kind: str, system: str | None, parent: Any, *rest: Any) -> Said:
    at, of_model, has_draft = rest
    whole = parent and ledger.key(parent)
    return Said(
        position, ledger.key(pk), kind, system, whole, ledger.seconds(at), of_model, has_draft
    )


def judge_thread(
    thread: Sequence[Said], ends: Counter[str], seen: Seen, violations: list[str]
) -> None:
    """Add a thread's outcomes to the counts in `ends`, and its violations to `violations`."""
    replies = Counter(one.parent for one in thread if one.kind == "AI_MESSAGE")
    by_parent = {one.parent: one for one in thread if one.kind == "AI_MESSAGE"}
    for one in thread:
        if one.kind != "USER_MESSAGE":
            continue
        reply = by_parent.get(one.id)
        if one.id in seen.replied and seen.replied[one.id] != (reply and reply.id):
            violations.append(f"message {one.id}: its response is not the stored reply")
        if replies[one.id] + one.has_draft > 1:
            violations.append(f"message {one.id} has {replies[one.id]} replies")
        elif reply:
            ends["reply" if reply.of_model else "fallback"] += 1
        elif one.has_draft:
            ends["draft"] += 1
        elif excuse := escalation(one, thread):
            ends[excuse] += 1
        else:
            ends["nothing"] += 1
            violations.append(f"message {one.id} has no reply")


def escalation(message: Said, thread: Sequence[Said]) -> str | None:
    """Return the kind of escalation that explains a missing reply, or None."""
    toggles = [one for one in thread if one.system]
    before = [one for one in toggles if one.position < message.position]
    if before and before[-1].system == "CONVERSATION_ESCALATED":
        return "escalation"
    if any(
        one.position > message.position
        and one.system == "CONVERSATION_ESCALATED"
        and one.at - message.at < EXCUSED_FOR
        for one in toggles
    ):
        return "escalation meanwhile"
    return None
