"""A change through the API waits while staff change or delete the same row in the admin."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.db import connections, transaction

from chatbots.models import Chatbot, Version
from tests.conftest import Api
from tests.factories.chatbots import FollowUpPromptFactory, InstructionFactory
from tests.servers.locks import waits_for_a_lock
from tests.servers.processes import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has no row locks"),
    pytest.mark.proves("Follow-up prompts/5", "Instructions"),
]
BUTTON = {"buttonTitle": "new", "buttonMessage": "new"}


@pytest.mark.parametrize(
    ("factory", "path", "body", "column", "deleted"),
    [
        (FollowUpPromptFactory, "follow-up-prompts", BUTTON, "button_title", True),
        (InstructionFactory, "instructions", {"title": "new"}, "title", False),
    ],
)
def test_a_change_waits_for_staff_who_change_or_delete_the_row(
    api: Api, here: str, deleted: bool, factory: Any, path: str, body: Any, column: str
) -> None:
    row = factory(chatbot=Chatbot.objects.get())
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        held = type(row).objects.select_for_update().get(pk=row.pk)
        if deleted:
            held.delete()
        else:
            setattr(held, column, "by staff")
            held.save()
        answered = pool.submit(api.patch, f"{here}/{path}/{row.pk}", body)
        pool.submit(connections.close_all)
        wait_until(waits_for_a_lock)
    answer = answered.result()
    assert answer.status_code == (404 if deleted else 200)
    if not deleted:
        row.refresh_from_db()
        assert getattr(row, column) == "new"
        numbers = Version.objects.filter(row_id=row.pk).values_list("number", flat=True)
        assert sorted(numbers) == [*range(1, len(numbers) + 1)]
