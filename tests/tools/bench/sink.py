"""Receivers in a separate process that reports each arrival and its time.

`/take` responds immediately, `/late` after 50 ms, and `/hang` never responds. `/again` rejects each
body the first time it arrives.
"""

import contextlib
import json
import multiprocessing
import ssl
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import NamedTuple, Self

from tests.servers import certificates
from tests.servers.behaviors import Arrival, Step, answer, stall
from tests.servers.receiver import Receiver

LATE = 0.05  # seconds before a receiver responds
HOSTS = 20  # receivers, each on its own port


class Arrived(NamedTuple):
    """One request: its path, the id of its message, and its arrival time on the monotonic clock."""

    path: str
    message: str
    moment: float


class Sink:
    """The receiver process, as a context manager."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        chain = certificates.chain_file()
        self.process = context.Process(target=serve, args=(chain, theirs), daemon=True)
        self.ports: list[int] = []

    def __enter__(self) -> Self:
        self.process.start()
        self.ports = self.pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.join()

    def url(self, path: str, number: int = 0) -> str:
        """Return the URL of a path on the receiver selected by `number`."""
        return f"https://127.0.0.1:{self.ports[number % HOSTS]}{path}"

    def count(self) -> int:
        self.pipe.send("count")
        return int(self.pipe.recv())

    def take(self) -> list[Arrived]:
        """Return the arrivals since the previous call."""
        self.pipe.send("take")
        return [Arrived(*each) for each in self.pipe.recv()]


def serve(chain: str, pipe: Connection) -> None:
    """Receive requests until the process is killed. Reports arrivals when the parent asks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    arrived: list[tuple[str, bytes, float]] = []
    seen: set[bytes] = set()

    def fail_once(arrival: Arrival) -> Iterable[Step]:
        known = arrival.body in seen
        seen.add(arrival.body)
        return answer(200 if known else 503)(arrival)

    def tell(arrival: Arrival) -> None:
        arrived.append((arrival.path, arrival.body, arrival.monotonic))

    with contextlib.ExitStack() as stack:
        receivers = [stack.enter_context(Receiver(context, tell=tell)) for _ in range(HOSTS)]
        for receiver in receivers:
            receiver.on("/late", answer(delay=LATE))
            receiver.on("/hang", stall())
            receiver.on("/again", fail_once)
        pipe.send([receiver.port for receiver in receivers])
        while True:
            if pipe.recv() == "count":
                pipe.send(len(arrived))
                continue
            told, arrived[:] = arrived[:], []
            pipe.send([(path, message_of(body), moment) for path, body, moment in told])


def message_of(body: bytes) -> str:
    return str(json.loads(body)["data"]["messageId"])
