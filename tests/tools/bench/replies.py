"""Measure how much replies in flight slow down reads, and how many messages a second can be sent.

A reply is in flight while its request waits for the model.
"""

import threading
import time
from contextlib import ExitStack
from typing import Any

from tests.factories.webhooks import EndpointFactory
from tests.servers.processes import Web, Worker, wait_until
from tests.tools.bench import rows, wire
from tests.tools.bench.api import QUESTION, WrongAnswer
from tests.tools.bench.load import percentile
from tests.tools.bench.model import slow_model
from tests.tools.bench.rows import Chats
from tests.tools.bench.servers import cpu_seconds, memory_mib, service
from tests.tools.bench.sink import Sink

IN_FLIGHT, ACCOUNTS = 250, 5
MODEL_SECONDS = 5.0
# Twice the number of concurrent replies, because no more than four fifths of a process's threads
# may wait for models at a time
THREADS = str(IN_FLIGHT * 2)
LEAST = 0.005  # seconds; shorter times are mostly noise, so ratios treat them as this long
PAUSE = 0.02  # seconds between two reads
SENDERS = 16


def sending(chats: list[Chats]) -> list[bytes]:
    """Return the requests that send one message to each thread."""
    return [
        wire.request("POST", f"{path}/message", each.key, {"content": QUESTION})
        for each in chats
        for path in each.threads
    ]


def reading(made: rows.Rows) -> list[bytes]:
    """Return requests for four reads: history, threads, my-chatbots and lead-settings."""
    chat = f"/v1/chatting/{made.chatbot}"
    paths = (
        f"{chat}/thread/{made.thread}/messages",
        f"{chat}/threads",
        "/v1/chatbots/my-chatbots",
        f"/v1/chatbots/chatbot/{made.chatbot}/lead-settings",
    )
    return [wire.request("GET", path, made.key) for path in paths]


def read(web: Web, requests: list[bytes], seconds: float) -> list[float]:
    """Send the requests in turn for this many seconds. Returns how long each request took."""
    connection, took = wire.Connection(web.port, b""), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for request in requests:
            took.append(wire.ask(connection, request)[0])
            time.sleep(PAUSE)
    connection.socket.close()
    return took


class Senders(threading.Thread):
    """A context manager that keeps sending visitors' messages. Each request waits for the model."""

    def __init__(self, web: Web, requests: list[bytes]) -> None:
        super().__init__()
        self.web, self.requests = web, requests
        self.over = threading.Event()
        self.heard = wire.Heard()

    def run(self) -> None:
        self.heard = wire.load(
            self.web.port,
            self.requests,
            3600,
            kept=True,
            spread=MODEL_SECONDS,
            stopped=self.over.is_set,
        )

    def __enter__(self) -> "Senders":
        self.start()
        time.sleep(MODEL_SECONDS + 1)
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


def replies(size: float) -> dict[str, Any]:
    """Measure how long reads take with and without 250 replies in flight, and time the sends."""
    made = rows.make(connections=1)
    in_flight = round(IN_FLIGHT * min(1.0, 4 * size))  # 250 at sizes of 0.25 and above
    chats = rows.add_accounts(ACCOUNTS, threads=in_flight // ACCOUNTS)
    requests, seconds = reading(made), 20 * size
    with ExitStack() as stack:
        model = stack.enter_context(slow_model(MODEL_SECONDS))
        web = stack.enter_context(service(LLM_BASE_URL=model, LLM_MODEL="m", WEB_THREADS=THREADS))
        read(web, requests, 1)
        without = read(web, requests, seconds / 2)
        with Senders(web, sending(chats)) as senders:
            assert senders.is_alive()
            cpu, began = cpu_seconds(web), time.monotonic()
            beside = read(web, requests, seconds / 2)
            beside += read(web, requests, seconds / 2)
            cores = (cpu_seconds(web) - cpu) / (time.monotonic() - began)
            memory = memory_mib(web)
        if senders.heard.wrong:
            raise WrongAnswer(f"a send: {senders.heard.wrong[0][:600]!r}")
        time.sleep(1)
        without += read(web, requests, seconds / 2)
    with_them, without_them = percentile(beside, 0.99), percentile(without, 0.99)
    return {
        "replies_in_flight": in_flight,
        "reads_p99_beside_s": with_them,
        "reads_p99_without_s": without_them,
        "reads_p50_beside_s": percentile(beside, 0.5),
        "reads_p50_without_s": percentile(without, 0.5),
        "reads_p99_ratio": max(LEAST, with_them) / max(LEAST, without_them),
        "sends": senders.heard.responses,
        "sends_p50_s": percentile(senders.heard.took, 0.5),  # includes the model's delay
        "sends_p99_s": percentile(senders.heard.took, 0.99),
        "memory_mib": memory,
        "cores": cores,
    }


def sends(size: float) -> dict[str, Any]:
    """Measure messages per second. The clock stops when the last delivery has arrived."""
    chats = rows.add_accounts(4, threads=SENDERS // 4)
    with ExitStack() as stack:
        sink = stack.enter_context(Sink())
        for number, each in enumerate(chats):
            EndpointFactory(chatbot=each.chatbot, url=sink.url("/take", number))
        web = stack.enter_context(service())
        worker = stack.enter_context(Worker(slots=128))
        wire.load(web.port, sending(chats), 2 * size, kept=True)
        time.sleep(2)
        sink.take()
        cpu, began = cpu_seconds(web) + cpu_seconds(worker), time.monotonic()
        heard = wire.load(web.port, sending(chats), 15 * size, kept=True)
        if heard.wrong:
            raise WrongAnswer(f"a send: {heard.wrong[0][:600]!r}")
        wait_until(lambda: sink.count() >= 2 * heard.responses, 120)
        seconds = max(one.moment for one in sink.take()) - began
        used = cpu_seconds(web) + cpu_seconds(worker) - cpu
    return {
        "sends_a_second": heard.responses / seconds,
        "sends_a_second_accepted": heard.a_second,
        "sends_p99_s": percentile(heard.took, 0.99),
        "sends_cpu_ms": 1000 * used / heard.responses,
    }
