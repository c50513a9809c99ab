"""Clients that begin a request and then send its body one byte at a time."""

import http.client
import select
import socket
import threading
from contextlib import suppress
from itertools import cycle
from typing import NamedTuple, Self

PAUSE = 0.1  # seconds between bytes


class Answer(NamedTuple):
    """A response that a client received before it had sent the entire body."""

    status: int
    body: bytes


class Trickling:
    """Runs concurrent clients while its context is active. Each sends one request at a time."""

    def __init__(self, port: int, path: str, key: str, *, clients: int) -> None:
        self.port, self.answers, self.begun = port, list[Answer](), 0
        common = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with_key = f"{common}Authorization: Bearer {key}\r\n"
        with_name = f"{with_key}Idempotency-Key: trickle\r\n"
        long, chunked = "Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"
        self.kinds = [
            (with_key + long, b" "),
            (with_key + chunked, b"1\r\n \r\n"),
            (with_name + long, b" "),
            (with_name + chunked, b"1\r\n \r\n"),
            (with_key + long, b""),  # sends no part of the body
            (common + chunked, b"1\r\n \r\n"),  # sends no API key
        ]
        self.ending = threading.Event()
        self.threads = [
            threading.Thread(target=self.trickle, args=(head.encode(), part), daemon=True)
            for (head, part), _ in zip(cycle(self.kinds), range(clients), strict=False)
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
            with suppress(OSError, http.client.HTTPException):
                self.send(head, part)
            self.ending.wait(PAUSE)

    def send(self, head: bytes, part: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            self.begun += 1
            client.sendall(head)
            while not self.ending.is_set():
                if select.select([client], [], [], PAUSE)[0]:
                    answer = http.client.HTTPResponse(client, method="POST")
                    answer.begin()
                    self.answers.append(Answer(answer.status, answer.read()))
                    return
                client.sendall(part)
