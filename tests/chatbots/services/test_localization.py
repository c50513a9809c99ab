"""Texts that are copied to a locale do not replace texts that are saved at the same time."""

import threading

import pytest
from django.conf import settings
from django.db import connections, transaction

from chatbots.models import Chatbot, Localization
from chatbots.services.localization import copy_texts
from tests.factories.chatbots import LocalizationFactory
from tests.servers.processes import a_session_waits_for_a_transaction, wait_until


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has one writer at a time")
def test_a_text_that_is_saved_during_a_copy_is_kept(chatbot: Chatbot) -> None:
    french = LocalizationFactory(chatbot=chatbot, locale_code="fr", texts={"cancel": "Annuler"})
    german = LocalizationFactory(chatbot=chatbot, locale_code="de", texts={})

    def copy() -> None:
        try:
            copy_texts(french, "de")
        finally:
            connections.close_all()

    thread = threading.Thread(target=copy)
    with transaction.atomic():
        row = Localization.objects.select_for_update(no_key=True).get(pk=german.pk)
        row.texts = {"homeTitle": "Hallo"}
        row.save()
        thread.start()
        wait_until(a_session_waits_for_a_transaction)
    thread.join()
    german.refresh_from_db()
    assert german.texts == {"homeTitle": "Hallo", "cancel": "Annuler"}
