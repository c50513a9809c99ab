"""The deletion of lead settings waits while staff change the same row in the admin."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.db import connections, transaction

from chatbots.models import Chatbot, LeadSettings
from tests.conftest import Api
from tests.factories.chatbots import LeadSettingsFactory
from tests.servers.locks import waits_for_a_lock
from tests.servers.processes import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has no row locks"),
    pytest.mark.proves("Lead settings/delete"),
]


def test_a_deletion_returns_what_staff_have_just_saved(api: Api, here: str) -> None:
    row = LeadSettingsFactory(chatbot=Chatbot.objects.get())

    def delete() -> Any:
        try:
            return api.delete(f"{here}/lead-settings")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        held = LeadSettings.objects.select_for_update().get(pk=row.pk)
        held.industry_template = "by staff"
        held.save()
        answered = pool.submit(delete)
        wait_until(waits_for_a_lock)
    assert answered.result().json()["data"]["industryTemplate"] == "by staff"
    assert not LeadSettings.objects.exists()
