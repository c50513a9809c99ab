"""Clients that begin a request and then send its body one byte at a time."""

import http.client
import select
import socket
import threading
from contextlib import suppress
from itertools import cycle, islice
from typing import NamedTuple, Self

PAUSE = 0.1  # seconds between bytes


class Answer(NamedTuple):
    """A response that a client received before it had sent the entire body."""

    status: int
    body: bytes


class Trickling:
    """Runs concurrent clients while its context is active. Each sends one request at a time."""

    def __init__(self, port: int, path: str, key: str, *, clients: int) -> None:
        self.port, self.answers = port, list[Answer]()
        keyless = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with_key = f"{keyless}Authorization: Bearer {key}\r\n"
        long, chunked = "Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"
        kinds = [
            (with_key + long, b" "),
            (with_key + chunked, b"1\r\n \r\n"),
            (f"{with_key}Idempotency-Key: trickle\r\n" + long, b" "),
            (with_key + long, b""),  # sends no part of the body
            (keyless + chunked, b"1\r\n \r\n"),
        ]
        self.ending = threading.Event()
        self.threads = [
            threading.Thread(target=self.trickle, args=(head.encode(), part), daemon=True)
            for head, part in islice(cycle(kinds), clients)
        ]

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        for thread in self.threads:
            thread.join()

    def trickle(self, head: bytes, part: bytes) -> None:
        """Keep sending requests, even if the server closes a connection without a response."""
        while not self.ending.is_set():
            with (
                suppress(OSError, http.client.HTTPException),
                socket.create_connection(("127.0.0.1", self.port), timeout=30) as client,
            ):
                client.sendall(head)
                while not (self.ending.is_set() or select.select([client], [], [], PAUSE)[0]):
                    client.sendall(part)
                answer = http.client.HTTPResponse(client, method="POST")
                if not self.ending.is_set():
                    answer.begin()
                    self.answers.append(Answer(answer.status, answer.read()))
            self.ending.wait(PAUSE)
