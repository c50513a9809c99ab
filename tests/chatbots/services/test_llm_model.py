"""There is only one default model, even after concurrent changes."""

import threading

import pytest
from django.conf import settings
from django.db import connections, transaction

from chatbots.models import LlmModel
from chatbots.services.llm_model import make_default
from tests.factories.chatbots import LlmModelFactory
from tests.servers.processes import a_session_waits_for_a_transaction, wait_until


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has one writer at a time")
def test_two_models_made_the_default_together_leave_one_default() -> None:
    first, second = LlmModelFactory(is_default=False), LlmModelFactory(is_default=False)

    def make() -> None:
        try:
            make_default(second)
        finally:
            connections.close_all()

    thread = threading.Thread(target=make)
    with transaction.atomic():
        make_default(first)
        thread.start()
        wait_until(a_session_waits_for_a_transaction)
    thread.join()
    assert LlmModel.objects.get(is_default=True) == second
