"""Fixtures: a thread, its API paths, a function that sends messages, and a model server."""

from collections.abc import Callable
from typing import Any

import pytest

from chatbots.models import Chatbot, LlmModel
from chatbots.services import general_settings
from conversations.models import Thread
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.servers.model import ModelServer

Send = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def thread(chatbot: Chatbot) -> Thread:
    return ThreadFactory(chatbot=chatbot)


@pytest.fixture
def base(chatbot: Chatbot) -> str:
    return f"/v1/chatting/{chatbot.pk}"


@pytest.fixture
def here(base: str, thread: Thread) -> str:
    return f"{base}/thread/{thread.pk}"


@pytest.fixture
def send(api: Api, here: str) -> Send:
    """Return a function that sends a message and returns the response's messages.

    The function asserts that the message is accepted.
    """

    def sent(content: str = "Hello") -> list[dict[str, Any]]:
        answer = api.post(f"{here}/message", {"content": content})
        assert answer.status_code == 200, answer.json()
        return answer.json()["data"]["messages"]

    return sent


@pytest.fixture
def asked(model: ModelServer, chatbot: Chatbot) -> ModelServer:
    """Make the chatbot use the model server, and return the server."""
    row = LlmModel.objects.create(
        provider="openai", title="Real", name="m-1", base_url=model.base_url
    )
    general_settings.change(chatbot.pk, {"llm_model_id": row.pk, "description": "A shop."})
    return model
