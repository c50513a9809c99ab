"""An hour is counted correctly even if rows are erased while it is being recounted."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from config.database.ids import time_of
from conversations.models import Activity, Lead, Thread
from conversations.models.activity import HOUR
from conversations.services import activity, erasure
from conversations.services.activity import Range, hour_of
from tests.patience import PATIENCE


@pytest.mark.django_db(transaction=True)
def test_an_hour_is_recounted_again_if_the_erasure_of_a_lead_commits_during_a_recount(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead = Lead.objects.create(chatbot=thread.chatbot, thread=thread)
    hour = hour_of(time_of(lead.pk))
    Activity.objects.create(chatbot=thread.chatbot, hours=HOUR, begins_at=hour, leads=1)
    counted, count = threading.Event(), Range.count
    monkeypatch.setattr(Range, "count", lambda *given: (count(*given), counted.set())[0])
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            erasure.erase_lead(lead)
            recount = pool.submit(activity.write, hour, Activity.CONVERSATIONS)
            assert counted.wait(PATIENCE)
        recount.result()
        pool.submit(connections.close_all).result()
    assert activity.stale_hours() == [(hour, Activity.CONVERSATIONS)]
    activity.write(hour, Activity.CONVERSATIONS)
    assert Activity.objects.get(hours=HOUR).leads == 0
    assert activity.stale_hours() == []
