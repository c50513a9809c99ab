"""A real OpenAI-compatible server that uses plain HTTP and sends the responses that a test sets."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from tests.servers.behaviors import Arrival, Behavior, Step, answer, head
from tests.servers.receiver import Receiver

Messages = list[dict[str, str]]
PATH = "/v1/chat/completions"


class ModelServer(Receiver):
    """A model that echoes the last message until it is configured otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.say(replying(lambda messages: f"You said: {messages[-1]['content']}"))

    @property
    def base_url(self) -> str:
        return self.url("/v1")

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The parsed bodies of all received requests."""
        return [orjson.loads(arrival.body) for arrival in self.arrivals]

    def say(self, *plan: Behavior) -> None:
        """Set the behaviors for the next requests, in order. The last behavior is then repeated."""
        self.on(PATH, *plan)


Content = str | list[dict[str, Any]] | None


def completion(
    content: Content,
    *,
    usage: bool = False,
    finish_reason: str = "stop",
    refusal: str | None = None,
) -> bytes:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    said: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    counts = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return orjson.dumps(said | {"usage": counts} if usage else said)


def replying(reply: Callable[[Messages], str], *, delay: float = 0.0) -> Behavior:
    """Return a behavior that replies with the result of calling `reply` on the messages."""

    def behavior(arrival: Arrival) -> Iterator[Step]:
        body = completion(reply(orjson.loads(arrival.body)["messages"]), usage=True)
        yield delay
        yield head(200, "Content-Type: application/json", length=len(body)) + body

    return behavior


def saying(content: Content, *, delay: float = 0.0, **how: Any) -> Behavior:
    return answer(200, completion(content, **how), "Content-Type: application/json", delay=delay)


def failing(status: int, error: dict[str, Any], *headers: str) -> Behavior:
    """Return a behavior that responds with an error in OpenAI's format."""
    return answer(status, orjson.dumps({"error": error}), *headers)


def dripping(content: str, *, gap: float = 0.05) -> Behavior:
    """Return a behavior that sends a valid reply byte by byte."""
    body = completion(content)

    def behavior(arrival: Arrival) -> Iterator[Step]:
        yield head(200, length=len(body))
        for byte in body:
            yield bytes([byte])
            yield gap

    return behavior


class HeldModel(ModelServer):
    """A model that delays each reply until `ready` is set, but for at most `patience` seconds.

    If further behaviors are given in `then`, only the first reply is delayed.
    """

    def __init__(self, content: str, *then: Behavior, patience: float) -> None:
        super().__init__()
        self.content, self.patience = content, patience
        self.ready = threading.Event()
        self.say(self.held, *then)

    def held(self, arrival: Arrival) -> Iterator[Step]:
        self.ready.wait(self.patience)
        yield from saying(self.content)(arrival)

    def __exit__(self, *raised: Any) -> None:
        self.ready.set()
        super().__exit__(*raised)
