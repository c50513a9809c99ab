"""A receiver that records the requests it gets.

Its response to each request depends on the path's current mood, which is one of MOODS.
"""

import itertools
import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from tests.servers import certificates
from tests.servers.behaviors import Arrival, Behavior, Step, answer, hang_up, reset, stall
from tests.servers.receiver import Receiver

FINE = "fine"
MOODS: dict[str, tuple[int | None, Behavior]] = {
    FINE: (200, answer(delay=0.02)),
    "slow": (200, answer(delay=0.7)),
    "500": (500, answer(500)),
    "hang": (None, stall()),
    "close": (None, hang_up()),
    "reset": (None, reset()),
}


@dataclass(frozen=True, slots=True)
class Heard:
    """One request, with its arrival time in seconds since 1970 and its exact body.

    `said` is the status of the response, or None if the receiver did not send one.
    """

    at: float
    body: bytes
    said: int | None
    mood: str


class Listener:
    """A receiver with one path per endpoint. Use it as a context manager."""

    def __init__(self, paths: int) -> None:
        self.receiver = Receiver(certificates.good())
        self.paths = [f"/hook/{number}" for number in range(paths)]
        self.heard: list[Heard] = []
        self.moods: dict[str, deque[str]] = defaultdict(deque)
        self.lock = threading.Lock()
        for path in self.paths:
            self.receiver.on(path, self.behave)

    def __enter__(self) -> Self:
        self.receiver.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.receiver.__exit__()

    @property
    def urls(self) -> list[str]:
        return [self.receiver.url(path) for path in self.paths]

    def behave(self, arrival: Arrival) -> Iterator[Step]:
        if len(arrival.body) < int(arrival.header("Content-Length") or 0):
            return  # the sender died before sending the whole request
        with self.lock:
            waiting = self.moods[arrival.path]
            mood = waiting.popleft() if waiting else FINE
            said, steps = MOODS[mood]
            self.heard.append(Heard(arrival.wall, arrival.body, said, mood))
        yield from steps(arrival)

    def be(self, mood: str, times: int, path: str) -> None:
        """Queue a mood for the next `times` requests to a path."""
        with self.lock:
            self.moods[path].extend(itertools.repeat(mood, times))

    def cheer_up(self) -> None:
        with self.lock:
            self.moods.clear()
