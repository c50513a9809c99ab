import time
from collections.abc import Iterator
from typing import Any

import pytest

from chatbots.llm.exchange import Model, ReplyFailed, Turn
from chatbots.llm.fallback import ask
from chatbots.llm.parsing import without_thoughts
from tests.servers.behaviors import Behavior, answer
from tests.servers.model import ModelServer, completion, saying


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def text(content: str) -> dict[str, str]:
    return {"type": "text", "text": content}


@pytest.mark.parametrize(
    ("behavior", "reply"),
    [
        pytest.param(saying("  yes\n"), "yes", id="surrounding white space"),
        pytest.param(saying("Zeile 1\nZeile 2 😀"), "Zeile 1\nZeile 2 😀", id="two lines"),
        pytest.param(saying("with a\0NUL"), "with aNUL", id="NUL"),
        pytest.param(saying("long " * 50_000), ("long " * 50_000).strip(), id="long text"),
        pytest.param(saying([text("y"), text("es")]), "yes", id="text parts"),
        pytest.param(saying([{"type": "thinking"}, text("yes")]), "yes", id="thinking part"),
        pytest.param(answer(200, b"\xef\xbb\xbf" + completion("yes")), "yes", id="byte order mark"),
        pytest.param(answer(201, completion("yes")), "yes", id="status 201"),
        pytest.param(saying("<think>\nHm.\n</think>\n\nyes"), "yes", id="thought in tags"),
    ],
)
def test_responses_that_official_clients_accept_are_accepted(
    server: ModelServer, behavior: Behavior, reply: str
) -> None:
    server.say(behavior)
    model = Model("compatible", "gpt-test", server.base_url)
    assert ask(model, [Turn("user", "Well?")], temperature=0).content == reply


@pytest.mark.parametrize("parts", [[1], [{}], [{"type": "text"}], [text(1)], {"type": "text"}])
def test_content_of_another_shape_is_rejected(server: ModelServer, parts: Any) -> None:
    server.say(saying(parts))
    with pytest.raises(ReplyFailed, match="invalid response"):
        ask(Model("compatible", "gpt-test", server.base_url), [Turn("user", "?")], temperature=0)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("no thought", "no thought"),
        ("<think>one</think>two", "two"),
        ("one</think>two", "two"),
        ("a<THINK>b</think>c<thinking>d</thinking>e", "ace"),
        ("said<think>and never ended", "said"),
        ("<think>" * 100_000 + "</think>said", "said"),
        ("<think></think>" * 60_000 + "said", "said"),
    ],
)
def test_thoughts_are_removed_in_linear_time(said: str, left: str) -> None:
    began = time.thread_time()
    assert without_thoughts(said) == left
    assert time.thread_time() - began < 1
