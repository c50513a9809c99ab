"""Staff actions in the admin reach the receiver through a real worker."""

import threading
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from django.urls import reverse

from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory
from tests.patience import PATIENCE
from tests.servers.behaviors import Arrival, Step, answer
from tests.servers.processes import Web, Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)
CLICKS, TOKEN = 100, "t" * 32
BROKEN = answer(503)


def tried() -> Delivery | None:
    return Delivery.objects.filter(due_at=None, claim=None, attempts_count__gt=0).first()


@pytest.mark.slow
@pytest.mark.proves("Delivery rules/3")
def test_a_hundred_concurrent_clicks_cause_one_attempt(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """The attempt ends only after the last click. A later click would start another attempt."""
    all_clicked = threading.Event()

    def held(arrival: Arrival) -> Iterable[Step]:
        all_clicked.wait(PATIENCE)
        return BROKEN(arrival)

    receiver.on("/hook", held)
    failed = DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", due_at=None)
    button = reverse("admin:webhooks_delivery_retry", args=[failed.pk])
    cookies = {"sessionid": signed_in(superuser()).cookies["sessionid"].value, "csrftoken": TOKEN}
    with (
        Worker(WEBHOOK_TIMEOUT=str(PATIENCE)) as worker,
        Web(RATE_LIMIT_IP="off") as web,
        ThreadPoolExecutor(CLICKS) as pool,
    ):

        def click(_: int) -> int:
            return requests.post(
                f"{web.address}{button}",
                headers={"X-CSRFToken": TOKEN},
                cookies=cookies,
                allow_redirects=False,
                timeout=PATIENCE,
            ).status_code

        answers = Counter(pool.map(click, range(CLICKS // 2)))
        receiver.wait_for(1)
        answers += Counter(pool.map(click, range(CLICKS // 2)))
        assert answers == {302: CLICKS}
        all_clicked.set()
        wait_until(tried, told=worker.said)
        assert (failed.attempts.count(), len(receiver.arrivals)) == (1, 1)
        assert requests.post(f"{web.address}{button}", timeout=60).status_code == 403, (
            "no CSRF token"
        )


@pytest.mark.proves("Events/4")
def test_a_sample_is_one_attempt_that_is_marked_as_a_test(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    receiver.on("/hook", BROKEN)
    client = signed_in(superuser())
    client.post(
        reverse("admin:webhooks_endpoint_test", args=[endpoint.chatbot_id]), {"event": "NEW_LEAD"}
    )
    with Worker() as worker:
        made = wait_until(tried, told=worker.said)
    assert (made.is_test, made.state, made.attempts.count()) == (True, "FAILED", 1)
    assert len(receiver.arrivals) == 1
    page = client.get(reverse("admin:webhooks_delivery_change", args=[made.pk]))
    assert "after 1 attempt, a test" in page.content.decode()
