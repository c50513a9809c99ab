"""Simulate visitors who keep sending messages through the API, even while it fails."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import requests

SENDERS = 4
NEW_THREAD = 0.03  # probability that a sender starts a new thread instead of using an old one
PAUSE = 0.05  # mean time between two messages from a sender, in seconds
HURRY_NOT = 6  # factor by which pauses are longer while too many faults are overdue
IN_VAIN = 0.2  # pause after a failed call, in seconds


class Load:
    """A context manager that sends messages from several threads until its block ends.

    `committed` contains the ids of all messages that the API has returned, including replies. Each
    of these messages must have an event. If a request gets no response, its message may or may not
    have been committed.
    """

    def __init__(
        self, address: str, *, key: str, chatbots: list[str], seed: int, late: Callable[[], bool]
    ) -> None:
        self.base, self.chatbots, self.late = f"{address}/api/v1/chatting", chatbots, late
        self.headers = {"Authorization": f"Bearer {key}"}
        self.committed: set[str] = set()
        self.answers: Counter[str] = Counter()
        self.threads: list[str] = []  # paths of the conversation threads
        self.stopping = threading.Event()
        self.senders = [
            threading.Thread(target=self.send, args=(random.Random(f"{seed}/{number}"),))
            for number in range(SENDERS)
        ]

    def __enter__(self) -> Self:
        for sender in self.senders:
            sender.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for sender in self.senders:
            sender.join()

    def send(self, rng: random.Random) -> None:
        with requests.Session() as session:
            session.trust_env = False
            session.headers.update(self.headers)
            while not self.stopping.wait(self.pause(rng)):
                if not self.threads or rng.random() < NEW_THREAD:
                    self.begin(session, rng.choice(self.chatbots))
                else:
                    self.say(session, rng.choice(self.threads), f"Question {rng.random()}?")

    def pause(self, rng: random.Random) -> float:
        return rng.expovariate(1 / PAUSE) * (HURRY_NOT if self.late() else 1)

    def begin(self, session: requests.Session, chatbot: str) -> None:
        if made := self.post(session, f"{chatbot}/threads", {"visitorName": "Ada"}):
            self.threads.append(f"{chatbot}/thread/{made['thread']['id']}")

    def say(self, session: requests.Session, thread: str, words: str) -> None:
        if made := self.post(session, f"{thread}/message", {"content": words}):
            self.committed.update(message["id"] for message in made["messages"])

    # Any: JSON
    def post(self, session: requests.Session, path: str, body: Any) -> dict[str, Any] | None:
        try:
            answer = session.post(f"{self.base}/{path}", json=body, timeout=30)
        except requests.RequestException as error:
            self.answers[type(error).__name__] += 1
            time.sleep(IN_VAIN)
            return None
        self.answers[str(answer.status_code)] += 1
        if answer.status_code != 200:
            time.sleep(IN_VAIN)
            return None
        data: dict[str, Any] = answer.json()["data"]
        return data
