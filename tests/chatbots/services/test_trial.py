"""A trial sends the same history as a conversation, and does not change the models' state."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chatbots.llm import fallback
from chatbots.models import Chatbot, LlmModel
from chatbots.services import general_settings, trial
from tests.servers.model import ModelServer, saying

pytestmark = pytest.mark.django_db


def configured(chatbot: Chatbot, model: ModelServer, **fields: object) -> LlmModel:
    row = LlmModel.objects.create(
        provider="openai", title="Real", base_url=model.base_url, **fields
    )
    given = {"llm_model_id": row.pk, "history_message_context": 10}
    general_settings.change(chatbot.pk, given)
    return row


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
