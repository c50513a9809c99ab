"""The monthly message quota: what counts toward it, and who is notified.

Races are tested in tests/config/api/test_limits.py.
"""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Mail, Plan, Usage
from chatbots.models import Chatbot, GeneralSettings
from conversations.models import Message, Thread
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory

pytestmark = pytest.mark.proves("Limits/quota")


@pytest.fixture
def thread(chatbot: Chatbot) -> Thread:
    return ThreadFactory(chatbot=chatbot)


@pytest.fixture
def quota(thread: Thread) -> Any:
    def give(messages: int | None) -> None:
        Plan.objects.filter(pk=thread.chatbot.account.plan_id).update(monthly_messages=messages)

    return give


def send(api: Api, thread: Thread, times: int = 1) -> list[int]:
    path = f"/v1/chatting/{thread.chatbot_id}/thread/{thread.pk}/message"
    return [api.post(path, {"content": "Hi"}).status_code for _ in range(times)]


def subjects() -> list[str]:
    return list(Mail.objects.order_by("created_at").values_list("subject", flat=True))


def test_the_owner_is_notified_once_at_80_and_once_at_100_percent(
    api: Api, thread: Thread, quota: Any
) -> None:
    quota(10)
    name = thread.chatbot.account.name
    assert (send(api, thread, 7), subjects()) == ([200] * 7, [])
    send(api, thread)
    assert subjects() == [f"{name}: 80% of this month's messages used"]
    send(api, thread)
    assert len(subjects()) == 1
    assert send(api, thread, 4) == [200, 429, 429, 429]
    assert subjects()[1:] == [f"{name}: 100% of this month's messages used"]
    mail = Mail.objects.order_by("created_at").last()
    assert mail is not None
    assert (mail.to, mail.account) == (thread.chatbot.account.owner.email, thread.chatbot.account)
    assert "first of next month" in mail.body


def test_a_lowered_quota_notifies_at_the_next_message_and_a_raised_one_does_not_repeat_it(
    api: Api, thread: Thread, quota: Any
) -> None:
    quota(100)
    send(api, thread, 5)
    quota(6)
    send(api, thread)
    assert len(subjects()) == 1
    quota(10)
    send(api, thread, 4)
    assert len(subjects()) == 1


def test_the_count_starts_over_in_a_new_month(api: Api, thread: Thread, quota: Any) -> None:
    quota(1)
    earlier = timezone.now().date().replace(year=2020, day=1)
    Usage.objects.create(account=thread.chatbot.account, month=earlier, messages=1, told=100)
    assert send(api, thread) == [200]
    assert len(subjects()) == 1


def test_a_rejected_message_uses_no_quota(api: Api, thread: Thread, quota: Any) -> None:
    quota(10)
    GeneralSettings.objects.update(
        limit_messages_per_conversation=True, max_messages_per_conversation=2
    )
    assert send(api, thread, 4) == [200, 200, 400, 400]
    assert (
        Usage.objects.get().messages == Message.objects.filter(message_type="USER_MESSAGE").count()
    )
