import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from chatbots.llm.exchange import Model, ReplyFailed, Turn
from chatbots.llm.fallback import ask
from tests.servers import behaviors as say
from tests.servers.behaviors import Behavior
from tests.servers.model import (
    PATH,
    ModelServer,
    completion,
    dripping,
    failing,
    replying,
    saying,
)

KEY = "sk-canary-0123456789"
TURNS = [
    Turn("system", "Answer in rhymes."),
    Turn("user", "Hello"),
    Turn("assistant", "Mellow"),
    Turn("user", "Grüße?"),
]
SLACK = 5.0  # extra seconds that a busy machine may take


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.LLM_KEYS = {"LLM_API_KEY": KEY, "LLM_API_KEY_BROKEN": "a\r\nX-Injected: 1"}
    settings.LLM_TIMEOUT = 60.0


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def model(server: ModelServer) -> Model:
    return Model("compatible", "gpt-test", server.base_url, "LLM_API_KEY")


def fails(model: Model, turns: list[Turn] = TURNS, **options: Any) -> str:
    """Return the reason a reply fails. Asserts that it fails, and that the error hides the key."""
    with pytest.raises(ReplyFailed) as caught:
        ask(model, turns, temperature=0.5, **options)
    assert str(caught.value) == caught.value.reason
    assert KEY not in repr(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value.reason


def test_the_request_contains_the_turns_in_order(server: ModelServer, model: Model) -> None:
    reply = ask(model, TURNS, temperature=0.25)
    assert (reply.content, reply.sources) == ("You said: Grüße?", [])
    assert server.questions == [
        {
            "model": "gpt-test",
            "messages": [{"role": turn.role, "content": turn.content} for turn in TURNS],
            "temperature": 0.25,
        }
    ]
    [arrival] = server.arrivals
    assert (arrival.method, arrival.path) == ("POST", PATH)
    assert arrival.header("Authorization") == f"Bearer {KEY}"
    assert arrival.header("Content-Type") == "application/json"


@pytest.mark.parametrize("variable", ["LLM_API_KEY_ABSENT", "LLM_API_KEY_BROKEN", "SECRET_KEY"])
def test_a_missing_or_invalid_key_is_named_and_no_request_is_sent(
    server: ModelServer, variable: str
) -> None:
    reason = fails(Model("compatible", "gpt-test", server.base_url, variable))
    assert reason.startswith(f"{variable} must be set")
    assert "Injected" not in reason
    assert server.connections == 0


INVALID = [
    *(b"", b"<html>", b"[]", b"null", b'{"choices":[]}', b'{"choices":{}}', b"[" * 500_000),
    completion("").replace(b'""', b"[1]"),
    completion("").replace(b'""', b'"\\ud800"'),  # a lone surrogate
]
BAD = [
    *((saying(content), "empty reply") for content in ("", " \n\0", None)),
    *((say.answer(200, body), "invalid response") for body in INVALID),
    *((answer, "invalid response") for answer in (say.answer(204), say.bomb())),
    (say.hang_up(f"{KEY}\r\n".encode()), "invalid response"),  # not HTTP
    (say.answer(200, completion("a" * 2**20)), "response larger than"),
    (say.endless_body(), "response larger than 1,024 KiB"),
    (say.answer(401, KEY.encode()), "endpoint answered 401"),
    (say.redirect("/v1/elsewhere", 307), "endpoint answered 307"),
    (say.answer(200, b"data: {}\n\n"), "the model streamed its response"),
    (saying("<think>Once upon", finish_reason="length"), "empty reply (length)"),
    (saying(None, refusal=KEY), "the model refused to answer"),
    (saying("", finish_reason="content_filter"), "content filter"),
    (saying("", finish_reason=f"because {KEY}"), "empty reply"),
    (failing(200, {"code": "model_not_found"}), "endpoint answered 200 (model_not_found)"),
]


@pytest.mark.parametrize(("behavior", "reason"), BAD)
def test_every_bad_response_fails_the_reply_with_a_reason(
    server: ModelServer, model: Model, behavior: Behavior, reason: str
) -> None:
    server.say(behavior)
    assert reason in fails(model)
    assert len(server.arrivals) == 1, "the model is asked only once"


@pytest.mark.parametrize(
    "behavior",
    [
        say.stall(),
        dripping("a long reply that drips", gap=0.2),
        say.drip_headers(),
        say.drip_interim(),
        say.stall(say.head(200, length=99)),
    ],
    ids=["silent", "dripping body", "dripping headers", "interim responses", "silent in the body"],
)
def test_a_slow_model_is_cut_off_at_the_timeout(
    server: ModelServer, model: Model, settings: Any, behavior: Behavior
) -> None:
    settings.LLM_TIMEOUT = 1.0  # long enough to send the request
    server.say(behavior)
    began = time.monotonic()
    assert fails(model) == "timeout while waiting for the response"
    assert time.monotonic() - began < SLACK


@pytest.mark.parametrize(
    ("base_url", "reason"),
    [
        ("http://127.0.0.1:1/v1", "connection refused"),
        ("http://no-such-host.invalid/v1", "DNS lookup failed"),
        ("no-address", "URL not allowed"),
        ("ftp://127.0.0.1/v1", "URL not allowed"),
        ("http://[::1/v1", "URL not allowed"),
        ("", "URL not allowed"),
    ],
)
def test_an_unreachable_endpoint_fails_with_a_reason(base_url: str, reason: str) -> None:
    assert reason in fails(Model("compatible", "gpt-test", base_url, "LLM_API_KEY"))


@pytest.mark.parametrize(
    "behavior",
    [
        pytest.param(say.hang_up(), id="closed"),
        pytest.param(say.hang_up(say.head(200, length=99) + b"{"), id="closed within the body"),
        pytest.param(say.hang_up(b"SSH-2.0"), id="not HTTP, then closed"),
        pytest.param(say.reset(), id="reset"),
    ],
)
def test_a_closed_connection_fails_with_a_reason(
    server: ModelServer, model: Model, behavior: Behavior
) -> None:
    server.say(behavior)
    assert fails(model, pauses=()).startswith("connection closed")
    assert len(server.arrivals) == 1


OVERLOADED = say.answer(503, b"", "Retry-After: 0")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(OVERLOADED, id="overloaded"),
        pytest.param(failing(429, {"code": "rate_limit"}, "Retry-After: 0"), id="rate limited"),
        pytest.param(say.hang_up(), id="closed"),
    ],
)
def test_a_temporary_failure_is_retried(server: ModelServer, model: Model, fault: Behavior) -> None:
    server.say(fault, saying("at last"))
    assert ask(model, TURNS, temperature=0).content == "at last"
    first, second = server.questions
    assert first == second


def test_a_retry_waits_as_long_as_the_endpoint_asks(server: ModelServer, model: Model) -> None:
    server.say(say.answer(429, b"", "Retry-After: 1"), saying("at last"))
    assert ask(model, TURNS, temperature=0).content == "at last"
    first, second = server.arrivals
    assert 1 <= second.monotonic - first.monotonic < 1 + SLACK


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        pytest.param(OVERLOADED, 3, id="persistent failure"),
        pytest.param(say.answer(503, b"", "Retry-After: 60"), 1, id="retry after the deadline"),
        pytest.param(failing(429, {"code": "insufficient_quota"}), 1, id="quota used up"),
        pytest.param(say.answer(400, b"bad"), 1, id="invalid request"),
    ],
)
def test_retries_are_few_and_stop_at_the_deadline_of_the_reply(
    server: ModelServer, model: Model, fault: Behavior, times: int
) -> None:
    server.say(fault)
    assert "the model's endpoint answered" in fails(model)
    assert len(server.arrivals) == times


@pytest.mark.parametrize(
    "fault",
    [
        {"param": "temperature", "code": "unsupported_value"},
        {"message": "litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.5."},
    ],
)
def test_a_model_that_rejects_the_temperature_is_asked_once_more_without_it(
    server: ModelServer, model: Model, fault: dict[str, str]
) -> None:
    server.say(failing(400, fault), saying("warm enough"))
    assert ask(model, TURNS, temperature=0.5).content == "warm enough"
    first, second = server.questions
    assert first == second | {"temperature": 0.5}
    server.say(failing(400, fault))
    assert fails(model).startswith("the model's endpoint answered 400")
    assert len(server.arrivals) == 4


LONG_TALK = [
    Turn("system", "Be brief."),
    *(Turn("user", f"{number} " + "x" * 998) for number in range(7)),
    Turn("assistant", "y" * 1000),
    Turn("user", "And now?"),
]


def test_a_conversation_that_is_too_long_is_sent_again_with_less_history(
    server: ModelServer, model: Model
) -> None:
    def reply(messages: list[dict[str, str]]) -> str:
        return f"{len(messages)} messages"

    too_long = failing(400, {"code": "context_length_exceeded"})
    server.say(too_long, replying(reply), too_long, too_long, replying(reply))
    assert ask(model, LONG_TALK, temperature=0).content == "4 messages"
    assert ask(model, LONG_TALK, temperature=0).content == "2 messages"
    roles = [[one["role"] for one in question["messages"]] for question in server.questions]
    assert [len(one) for one in roles] == [10, 4, 10, 4, 2]
    assert roles[1] == ["system", "user", "assistant", "user"]
    assert {question["messages"][-1]["content"] for question in server.questions} == {"And now?"}


def test_concurrent_replies_wait_only_for_the_model(server: ModelServer, model: Model) -> None:
    """The model server answers only after all 250 requests have arrived."""
    together = Barrier(250)

    def reply(messages: list[dict[str, str]]) -> str:
        together.wait(60)
        return messages[-1]["content"]

    def question(number: int) -> str:
        return ask(model, [Turn("user", f"{number}?")], temperature=0).content

    server.say(replying(reply))
    with ThreadPoolExecutor(250) as threads:
        replies = list(threads.map(question, range(250)))
    assert replies == [f"{number}?" for number in range(250)]
