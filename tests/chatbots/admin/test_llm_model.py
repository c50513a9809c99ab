"""LLM models in the admin. The default model and models in use cannot be deleted."""

from contextlib import nullcontext
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, LlmModel
from conversations.models import Draft
from tests.factories.chatbots import LlmModelFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import signed_in, superuser


@pytest.fixture
def client(default_model: Any) -> Client:
    return signed_in(superuser())


def used_by_a_chatbot(chatbot: Chatbot) -> LlmModel:
    model: LlmModel = LlmModelFactory()
    chatbot.generalsettings.llm_model = model
    chatbot.generalsettings.save()
    return model


def used_by_messages(chatbot: Chatbot) -> LlmModel:
    model: LlmModel = LlmModelFactory()
    MessageFactory(thread=ThreadFactory(chatbot=chatbot), llm_model=model)
    return model


def used_by_a_draft(chatbot: Chatbot) -> LlmModel:
    model: LlmModel = LlmModelFactory()
    message = MessageFactory(thread=ThreadFactory(chatbot=chatbot))
    Draft.objects.create(message=message, content="late", llm_model=model)
    return model


def the_default(chatbot: Chatbot) -> LlmModel:
    return LlmModel.objects.get(is_default=True)


KEPT = [
    (used_by_a_chatbot, "general settings refer to it"),
    (used_by_messages, "messages refer to it"),
    (used_by_a_draft, "drafts refer to it"),
    (the_default, "it is the default model"),
]


@pytest.mark.parametrize(("make", "reason"), KEPT)
def test_a_model_in_use_is_kept_and_the_page_gives_the_reason(
    client: Client, chatbot: Chatbot, make: Any, reason: str
) -> None:
    model = make(chatbot)
    change, delete = (
        reverse(f"admin:chatbots_llmmodel_{page}", args=[model.pk]) for page in ("change", "delete")
    )
    for answer in (client.get(delete), client.post(delete, {"post": "yes"})):
        assert answer["Location"] == change
    page = client.get(change).content.decode()
    assert f"{model} cannot be deleted, because {reason}. Make " in page
    assert ("Make another model the default first." in page) == model.is_default
    assert LlmModel.objects.filter(pk=model.pk).exists()


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("", True),
        ("LLM_API_KEY", True),
        ("LLM_API_KEY_SMALL", True),
        ("LLM_API_KEY_", False),
        ("LLM_API_KEYS", False),
        ("SECRET_KEY", False),
    ],
)
@pytest.mark.django_db
def test_a_model_can_name_only_variables_for_keys(name: str, accepted: bool) -> None:
    model: LlmModel = LlmModelFactory.build(key_variable=name)
    with nullcontext() if accepted else pytest.raises(ValidationError, match="LLM_API_KEY_"):
        model.clean_fields()
