import re
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from chatbots.llm.client import Model, ReplyFailed, Turn, ask
from tests.servers import behaviours as say
from tests.servers.model import PATH, ModelServer, completion, dripping, replying, saying

KEY = "sk-canary-0123456789"
TURNS = [
    Turn("system", "Answer in rhymes."),
    Turn("user", "Hello"),
    Turn("assistant", "Mellow"),
    Turn("user", "Grüße?"),
]
OFFLINE = Model("offline")
SLACK = 5.0  # seconds, for a machine under load


@pytest.fixture(autouse=True)
def _keys(settings):
    settings.LLM_KEYS = {"LLM_API_KEY": KEY, "LLM_API_KEY_BROKEN": "a\r\nX-Injected: 1"}
    settings.LLM_TIMEOUT = 60.0


@pytest.fixture
def server():
    with ModelServer() as running:
        yield running


@pytest.fixture
def model(server):
    return Model("compatible", "gpt-test", server.base_url, "LLM_API_KEY")


def fails(model, turns=TURNS):
    """The reason why a reply failed."""
    with pytest.raises(ReplyFailed) as caught:
        ask(model, turns, temperature=0.5)
    assert str(caught.value) == caught.value.reason
    assert KEY not in repr(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value.reason


def test_a_model_is_asked_with_the_turns_in_their_order(server, model):
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


def test_a_base_address_may_end_with_a_slash(server):
    ask(Model("compatible", "gpt-test", f"{server.base_url}/"), TURNS, temperature=0)
    assert [arrival.path for arrival in server.arrivals] == [PATH]


def test_a_model_without_a_key_is_asked_without_one(server):
    ask(Model("compatible", "gpt-test", server.base_url), TURNS, temperature=0)
    assert server.arrivals[0].header("Authorization") is None


@pytest.mark.parametrize("variable", ["LLM_API_KEY_ABSENT", "LLM_API_KEY_BROKEN", "SECRET_KEY"])
def test_a_key_that_is_missing_or_cannot_be_sent_is_named_and_nothing_is_asked(server, variable):
    reason = fails(Model("compatible", "gpt-test", server.base_url, variable))
    assert reason.startswith(f"{variable} must be set")
    assert "Injected" not in reason
    assert server.connections == 0


@pytest.mark.parametrize(
    ("content", "reply"),
    [
        ("yes", "yes"),
        ("  yes\n", "yes"),
        ("Zeile 1\nZeile 2 😀", "Zeile 1\nZeile 2 😀"),
        ("with a\0NUL", "with aNUL"),
        ("long " * 50_000, ("long " * 50_000).strip()),
    ],
)
def test_a_reply_is_what_the_model_said(server, model, content, reply):
    server.say(saying(content))
    assert ask(model, TURNS, temperature=0).content == reply


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        pytest.param(saying(""), "empty reply", id="nothing"),
        pytest.param(saying(" \n\0"), "empty reply", id="white space"),
        pytest.param(saying(None), "empty reply", id="null"),
        pytest.param(say.answer(200, b""), "answer not understood", id="no body"),
        pytest.param(say.answer(200, b"<html>"), "answer not understood", id="no JSON"),
        pytest.param(say.answer(200, b"[]"), "answer not understood", id="a list"),
        pytest.param(say.answer(200, b"null"), "answer not understood", id="null alone"),
        pytest.param(say.answer(200, b'{"choices":[]}'), "answer not understood", id="no choice"),
        pytest.param(say.answer(200, b'{"choices":{}}'), "answer not understood", id="odd choices"),
        pytest.param(
            say.answer(200, completion("").replace(b'""', b"[1]")),
            "answer not understood",
            id="content that is no text",
        ),
        pytest.param(
            say.answer(200, completion("").replace(b'""', b'"\\ud800"')),
            "answer not understood",
            id="half a character",
        ),
        pytest.param(say.answer(200, b"[" * 500_000), "answer not understood", id="nested deep"),
        pytest.param(
            say.answer(200, completion("a" * 2**20)), "answer larger than", id="too large"
        ),
        pytest.param(say.endless_body(), "answer larger than 1,024 KiB", id="without an end"),
        pytest.param(say.bomb(1), "answer not understood", id="compressed"),
        pytest.param(say.answer(401, KEY.encode()), "endpoint answered 401", id="key refused"),
        pytest.param(say.answer(429), "endpoint answered 429", id="too many"),
        pytest.param(say.answer(500, b"stack"), "endpoint answered 500", id="error"),
        pytest.param(say.redirect("/v1/elsewhere", 307), "endpoint answered 307", id="redirect"),
        pytest.param(say.answer(204), "endpoint answered 204", id="no content"),
        pytest.param(say.hang_up(), "connection closed", id="closed"),
        pytest.param(say.hang_up(say.head(200, length=99) + b"{"), "connection closed", id="cut"),
        pytest.param(say.hang_up(b"SSH-2.0"), "connection closed", id="no HTTP, cut"),
        pytest.param(say.hang_up(b"SSH-2.0\r\n"), "answer not understood", id="no HTTP"),
    ],
)
def test_whatever_a_model_does_the_reply_fails_with_a_reason(server, model, behaviour, reason):
    server.say(behaviour)
    assert reason in fails(model)
    assert len(server.arrivals) == 1, "nothing is asked twice, nowhere else"


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(say.stall(), id="hangs"),
        pytest.param(saying("late", delay=600.0), id="late"),
        pytest.param(dripping("a long reply that drips", gap=0.2), id="drips"),
        pytest.param(say.drip_headers(), id="drips headers"),
        pytest.param(say.drip_interim(), id="drips interim answers"),
        pytest.param(say.stall(say.head(200, length=99)), id="hangs within"),
    ],
)
def test_a_model_that_is_late_ends_with_the_time_that_it_has(server, model, settings, behaviour):
    settings.LLM_TIMEOUT = 1.0
    server.say(behaviour)
    began = time.monotonic()
    assert fails(model) == "timeout while waiting for the answer"
    assert time.monotonic() - began < 1 + SLACK


@pytest.mark.parametrize(
    ("base_url", "reason"),
    [
        ("http://127.0.0.1:1/v1", "connection refused"),
        ("http://no-such-host.invalid/v1", "name "),
        ("no-address", "URL not allowed"),
        ("ftp://127.0.0.1/v1", "URL not allowed"),
        ("http://[::1/v1", "URL not allowed"),
        ("", "URL not allowed"),
    ],
)
def test_an_endpoint_that_is_not_there_is_a_reason(base_url, reason):
    assert reason in fails(Model("compatible", "gpt-test", base_url, "LLM_API_KEY"))


def test_connections_are_kept_between_replies(server, model):
    for _ in range(5):
        ask(model, TURNS, temperature=0)
    assert server.connections == 1


def test_250_replies_at_once_wait_for_the_model_alone(server, model):
    """The model answers once all of them are with it."""
    together = Barrier(250)

    def reply(messages):
        together.wait(60)
        return messages[-1]["content"]

    server.say(replying(reply, delay=0.2))
    with ThreadPoolExecutor(250) as threads:
        replies = list(
            threads.map(
                lambda number: ask(model, [Turn("user", f"{number}?")], temperature=0), range(250)
            )
        )
    assert [reply.content for reply in replies] == [f"{number}?" for number in range(250)]
    assert all(reply.ms >= 200 for reply in replies)


KNOWN = """Shop of the Example company.
You are Ada, a friendly clerk. Always be polite!
Delivery takes two days. It costs 5 euros within Germany.
Returns are free for 30 days: https://shop.example.com/returns.
Opening hours: Monday to Friday, 9 to 17.
See https://shop.example.com/help/ and https://shop.example.com/faq?a=b for help."""


def offline(*said, known=KNOWN):
    turns = [Turn("system", known)] if known else []
    roles = ("user", "assistant") * len(said)
    return ask(OFFLINE, [*turns, *map(Turn, roles, said)], temperature=1)


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("How long does delivery take?", "Delivery takes two days."),
        ("What do DELIVERIES cost?", "It costs 5 euros within Germany."),
        ("when are you open", "Opening hours: Monday to Friday, 9 to 17."),
        ("Can I return it?", "Returns are free for 30 days"),
    ],
)
def test_the_offline_model_quotes_what_the_bot_was_told(question, content):
    assert content in offline(question).content


def test_the_offline_model_quotes_the_two_best_sentences_in_their_order():
    known = "Red paint dries. Blue paint costs 2 euros. Green paint smells. Blue paint is wet."
    assert offline("blue paint", known=known).content == (
        "You asked about blue and paint. Blue paint costs 2 euros. Blue paint is wet."
    )


def test_the_offline_model_names_what_it_understood():
    assert offline("Do you sell green bicycles?").content.startswith(
        "I understood that you ask about sell, green and bicycles"
    )
    assert offline("Tell me about delivery").content.startswith("You asked about delivery. ")


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Hello!", "Hello! What would you like to know?"),
        ("Thank you", "You are welcome"),
        ("?", "I did not understand"),
        ("", "I did not understand"),
        ("12345", "I did not understand"),
    ],
)
def test_the_offline_model_is_polite(said, reply):
    assert offline(said).content.startswith(reply)


def test_the_offline_model_answers_the_last_question_alone():
    assert offline("delivery", "two days", "hours").content == offline("hours").content


def test_the_offline_model_gives_the_addresses_that_it_quotes_as_sources():
    assert offline("May I return it?").sources == [
        {"title": "shop.example.com/returns", "url": "https://shop.example.com/returns"}
    ]
    assert [source["url"] for source in offline("help").sources] == [
        "https://shop.example.com/help/",
        "https://shop.example.com/faq?a=b",
    ]
    assert offline("delivery").sources == []


@pytest.mark.parametrize("known", ["", KNOWN, "delivery " * 10_000, "delivery. " * 10_000])
@pytest.mark.parametrize("said", ["delivery", "x" * 65_535, "words and " * 6_000, "?" * 65_535])
def test_the_offline_model_is_short_quick_and_always_the_same(known, said):
    began = time.monotonic()
    reply = offline(said, known=known)
    assert time.monotonic() - began < SLACK
    assert reply.content == offline(said, known=known).content
    assert 0 < len(reply.content) < 1_000
    assert re.search(r"\w", reply.content)
