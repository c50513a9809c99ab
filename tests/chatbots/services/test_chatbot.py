"""Chatbot rules that hold during concurrent changes and after a chatbot is erased."""

from collections import Counter
from contextlib import nullcontext
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from accounts.models import Change
from chatbots.access import ChatbotNotFound
from chatbots.models import Chatbot
from chatbots.services.chatbot import erase_chatbot, update_chatbot
from config.runtime.context import Context, acting
from tests.chatbots.conftest import at_once
from tests.conftest import Api
from tests.factories.accounts import PlanFactory
from tests.factories.chatbots import ChatbotFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.proves("Chatbots"),
]
MANY = 12


def test_one_of_many_concurrent_renames_to_the_same_name_succeeds(
    api: Api, chatbot: Chatbot
) -> None:
    bots = ChatbotFactory.create_batch(6, account=chatbot.account)
    path = f"/v1/chatbots/account/{chatbot.account_id}/chatbot"
    answers = at_once([partial(api.patch, f"{path}/{bot.pk}", {"name": "same"}) for bot in bots])
    assert Counter(answer.status_code for answer in answers) == {200: 1, 400: 5}
    assert Chatbot.objects.filter(name="same").count() == 1


def test_concurrent_creations_stop_at_the_limit_of_the_plan(api: Api, chatbot: Chatbot) -> None:
    account = chatbot.account
    account.plan = PlanFactory(name="Small", max_chatbots=4)
    account.save()
    path = f"/v1/chatbots/account/{account.pk}/create-chatbot"
    answers = at_once(
        [partial(api.post, path, {"name": f"{n}", "description": "x"}) for n in range(MANY)]
    )
    assert Counter(answer.status_code for answer in answers) == {200: 3, 403: MANY - 3}
    assert Chatbot.objects.filter(account=account).count() == 4


def test_a_caller_who_has_been_deleted_is_not_reported_as_a_name_that_is_taken(
    chatbot: Chatbot,
) -> None:
    with acting(Context(person=uuid4(), via="API key")), pytest.raises(IntegrityError):
        update_chatbot(chatbot.pk, {"name": "new"})
    assert Chatbot.objects.get().name == chatbot.name


def described(chatbot: Chatbot) -> list[list[str]]:
    """Return the old and new values of each recorded change to a chatbot's description."""
    entries = Change.objects.filter(object_pk=str(chatbot.pk), action=Change.Action.UPDATE)
    return [entry.changes["description"] for entry in entries if "description" in entry.changes]


def test_each_concurrent_change_records_the_value_that_it_replaced(
    api: Api, chatbot: Chatbot
) -> None:
    path = f"/v1/chatbots/account/{chatbot.account_id}/chatbot/{chatbot.pk}"
    change = [partial(api.patch, path, {"description": f"no. {n}"}) for n in range(MANY)]
    assert {answer.status_code for answer in at_once(change)} == {200}
    followed_by = dict(described(chatbot))
    value, values = chatbot.description, []
    while value in followed_by:
        value = followed_by.pop(value)
        values.append(value)
    assert sorted(values) == sorted(f"no. {n}" for n in range(MANY))
    assert Chatbot.objects.get().description == values[-1]


@pytest.mark.parametrize("within", [nullcontext, transaction.atomic])
@pytest.mark.parametrize("column", ["name", "description", "is_active"])
def test_a_change_between_reading_and_writing_is_kept(
    chatbot: Chatbot, column: str, within: Any
) -> None:
    value = False if column == "is_active" else "in between"
    Chatbot.objects.update(**{column: value})
    with within():
        changed = update_chatbot(chatbot.pk, {"description": "new"})
    kept = {"name": chatbot.name, "is_active": True} | {column: value} | {"description": "new"}
    assert Chatbot.objects.filter(**kept).count() == 1
    assert {name: getattr(changed, name) for name in kept} == kept
    old = "in between" if column == "description" else chatbot.description
    assert described(chatbot) == [[old, "new"]]


def test_an_erased_chatbot_is_not_changed_and_its_stored_name_is_free_for_others(
    api: Api, chatbot: Chatbot
) -> None:
    other = ChatbotFactory(account=chatbot.account)
    path = f"/v1/chatbots/account/{chatbot.account_id}/chatbot/{other.pk}"
    assert api.patch(path, {"name": f"erased {chatbot.pk}"}).status_code == 200
    assert erase_chatbot(chatbot)
    for changes in ({"description": "new"}, {}):
        with pytest.raises(ChatbotNotFound):
            update_chatbot(chatbot.pk, changes)
    assert Chatbot.everything.get(pk=chatbot.pk).description == ""
