"""A thread for messages."""

from collections.abc import Callable
from typing import Any

import pytest

from chatbots.models import Chatbot
from conversations.models import Thread
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory

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
    """Send a message that must be accepted; returns the messages of the response."""

    def sent(content: str = "Hello") -> list[dict[str, Any]]:
        answer = api.post(f"{here}/message", {"content": content})
        assert answer.status_code == 200, answer.json()
        return answer.json()["data"]["messages"]

    return sent
