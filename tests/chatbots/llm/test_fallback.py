"""Falling back from one model to the next, tested over HTTP with local model servers."""

import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from chatbots.llm import fallback
from chatbots.llm.exchange import AllFailed, Reply, Turn
from chatbots.llm.fallback import SKIPPED_AFTER, ask_in_turn, note, to_ask
from chatbots.models import LlmModel
from tests.servers.behaviors import Behavior, answer, stall
from tests.servers.model import ModelServer, saying

pytestmark = pytest.mark.django_db
TURNS = [Turn("user", "Hello")]
FAULTS = {"server error": answer(500, b"broken"), "not JSON": answer(200, b"{"), "silent": stall()}


@pytest.fixture
def first() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def second() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.say(saying("second"))
        yield server


def stored(title: str, server: ModelServer, next_model: LlmModel | None = None) -> LlmModel:
    return LlmModel.objects.create(
        provider="openai", title=title, base_url=server.base_url, next_model=next_model
    )


@pytest.fixture
def model(first: ModelServer, second: ModelServer) -> LlmModel:
    return stored("First", first, stored("Second", second))


def reply(model: LlmModel) -> Reply:
    """Ask the models for a reply, as the service does, and record each success and failure."""
    model.refresh_from_db()
    try:
        made = ask_in_turn(to_ask(model), TURNS, temperature=0.5)
    except AllFailed as failure:
        made = Reply("", failure=failure.reason, failed=failure.failed)
    note(made)
    return made


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_next_model_answers_within_the_same_deadline(
    model: LlmModel,
    first: ModelServer,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    fault: Behavior,
) -> None:
    settings.LLM_TIMEOUT = 10.0
    monkeypatch.setattr(fallback, "SHARE", 0.05)  # leaves most of the time for the second model
    first.say(fault)
    began = time.monotonic()
    made = reply(model)
    assert time.monotonic() - began < settings.LLM_TIMEOUT
    assert (made.content, str(made.model)) == ("second", "Second")
    assert [str(one.model) for one in made.failed] == ["First"]
    assert len(first.arrivals) == 1, "the failed model is not retried"


def test_the_next_model_is_not_asked_while_the_first_answers(
    model: LlmModel, second: ModelServer
) -> None:
    made = reply(model)
    assert (made.content, str(made.model), made.failed) == ("You said: Hello", "First", ())
    assert not second.arrivals


def test_if_all_models_fail_the_reason_names_each(
    model: LlmModel, first: ModelServer, second: ModelServer, settings: Any
) -> None:
    settings.LLM_TIMEOUT = 60.0
    first.say(answer(400))
    second.say(answer(404))
    endpoint = "the model's endpoint answered"
    assert reply(model).failure == f"First: {endpoint} 400; Second: {endpoint} 404"


def test_an_inactive_model_is_skipped(model: LlmModel, first: ModelServer) -> None:
    with ModelServer() as third:
        third.say(saying("third"))
        LlmModel.objects.filter(title="Second").update(
            is_active=False, next_model=stored("Third", third)
        )
        first.say(answer(500))
        assert reply(model).content == "third"


def test_a_model_that_fails_repeatedly_is_skipped_and_then_tried_once(
    model: LlmModel, first: ModelServer
) -> None:
    first.say(answer(500))
    for _ in range(SKIPPED_AFTER + 5):
        assert reply(model).content == "second"
    assert len(first.arrivals) == SKIPPED_AFTER
    LlmModel.objects.update(skipped_until=timezone.now() - timedelta(seconds=1))
    for _ in range(5):
        assert reply(model).content == "second"
    assert len(first.arrivals) == SKIPPED_AFTER + 1, "only one reply tries the model again"
    first.say(saying("well again"))
    LlmModel.objects.update(skipped_until=timezone.now() - timedelta(seconds=1))
    for _ in range(2):
        assert reply(model).content == "well again"
    model.refresh_from_db()
    assert (model.failures_in_a_row, model.skipped_until) == (0, None)


def test_the_last_model_is_always_asked(model: LlmModel, second: ModelServer) -> None:
    LlmModel.objects.update(
        failures_in_a_row=SKIPPED_AFTER, skipped_until=timezone.now() + timedelta(hours=1)
    )
    assert reply(model).content == "second"


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_loop_of_models_is_rejected_and_harmless(length: int) -> None:
    models = [LlmModel.objects.create(provider="offline", title=f"M{n}") for n in range(length)]
    for one, following in pairwise(models):
        one.next_model = following
        one.full_clean()
        one.save()
    models[-1].next_model = models[0]
    with pytest.raises(ValidationError, match="a model cannot come after itself") as caught:
        models[-1].full_clean()
    assert " -> ".join(map(str, [models[-1], *models])) in str(caught.value)
    models[-1].save()  # skips validation, as if two simultaneous edits had created the cycle
    assert to_ask(models[0]) == models
