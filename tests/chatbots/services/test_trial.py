"""A trial sends the same history as a conversation, and does not change the models' state."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chatbots.llm import fallback
from chatbots.llm.exchange import Turn
from chatbots.llm.prompt import HISTORY_CHARACTERS
from chatbots.models import Chatbot, LlmModel
from chatbots.services import general_settings, trial
from conversations.services import history
from tests.factories.conversations import ThreadFactory
from tests.servers.model import ModelServer, saying

pytestmark = pytest.mark.django_db


def configured(chatbot: Chatbot, model: ModelServer, **fields: object) -> LlmModel:
    row = LlmModel.objects.create(
        provider="openai", title="Real", base_url=model.base_url, **fields
    )
    given = {"llm_model_id": row.pk, "history_message_context": 10}
    general_settings.change(chatbot.pk, given)
    return row


@pytest.mark.parametrize(
    ("lengths", "sent"),
    [
        ([5, 5], 2),
        ([HISTORY_CHARACTERS // 2] * 3, 2),
        ([HISTORY_CHARACTERS // 2] * 2 + [1], 2),
        ([1, HISTORY_CHARACTERS], 1),
        ([1, HISTORY_CHARACTERS, 1], 1),
        ([HISTORY_CHARACTERS + 1], 0),
        ([1] * 12, 10),
        ([], 0),
    ],
)
def test_a_trial_sends_the_history_that_a_conversation_sends(
    chatbot: Chatbot, model: ModelServer, lengths: list[int], sent: int
) -> None:
    configured(chatbot, model)
    said = [Turn("user", str(number % 10) * size) for number, size in enumerate(lengths)]
    trial.ask(chatbot.pk, said, "Well?")
    asked = [turn["content"] for turn in model.questions[-1]["messages"]]
    assert asked == [*(turn.content for turn in said[len(said) - sent :]), "Well?"]
    thread = ThreadFactory(chatbot=chatbot)
    for turn in [*said, Turn("user", "Well?")]:
        message = history.append_from_visitor(thread, turn.content)
    assert [turn.content for turn in history.turns(message, "", 10)] == asked


def test_a_trial_does_not_use_up_the_next_try_of_a_skipped_model(
    chatbot: Chatbot, model: ModelServer
) -> None:
    second = LlmModel.objects.create(provider="offline", title="Second")
    row = configured(
        chatbot,
        model,
        next_model=second,
        failures_in_a_row=fallback.SKIPPED_AFTER,
        skipped_until=timezone.now() - timedelta(seconds=1),
    )
    model.say(saying("well again"))
    assert trial.ask(chatbot.pk, [], "Well?").reply.content == "well again"
    assert fallback.to_ask(row) == [row, second]
    assert fallback.to_ask(row) == [second]
    assert trial.ask(chatbot.pk, [], "Well?").reply.model == second
