"""If the cache fails, rate limits fail open, quotas still apply, and responses stay fast."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from accounts.models import Plan
from chatbots.models import Chatbot
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.servers.broker import Broker, Fault
from tests.servers.processes import Web, wait_until

pytestmark = [pytest.mark.proves("Limits"), pytest.mark.django_db(transaction=True)]

OPEN = "rate limits are not enforced: the cache is unavailable"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


class Callers:
    """Sends requests to a web server, all with the same API key."""

    def __init__(self, web: Web, key: str | None) -> None:
        self.web, self.headers = web, {"Authorization": f"Bearer {key}"}

    def get(self, path: str) -> Any:
        return requests.get(f"{self.web.address}{path}", headers=self.headers, timeout=30)

    def post(self, path: str, body: Any) -> Any:
        return requests.post(
            f"{self.web.address}{path}", json=body, headers=self.headers, timeout=30
        )

    def wrong_password(self) -> int:
        """Try to sign in, and return the status."""
        with requests.Session() as session:
            address = f"{self.web.address}/admin/login/"
            session.get(address, timeout=30)
            form = {"username": "ann@example.com", "password": "wrong"}
            form["csrfmiddlewaretoken"] = session.cookies["csrftoken"]
            return session.post(address, data=form, timeout=30).status_code

    def timed(self, path: str, times: int) -> list[float]:
        """Request a path repeatedly, and return the durations in seconds, in ascending order."""
        taken = []
        for _ in range(times):
            began = time.monotonic()
            assert self.get(path).status_code == 200
            taken.append(time.monotonic() - began)
        return sorted(taken)

    def figure(self, name: str) -> float:
        """Read the value of an unlabeled metric from /metrics."""
        lines = self.get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Broker.killed, Broker.suspended, Broker.demoted, Broker.full])
def test_without_its_cache_the_api_works_with_open_limits_and_enforced_quotas(
    api: Api, chatbot: Chatbot, broker: Broker, fault: Fault
) -> None:
    Plan.objects.filter(pk=chatbot.account.plan_id).update(monthly_messages=3)
    thread = ThreadFactory(chatbot=chatbot)
    limits = {"RATE_LIMIT_IP": "10/1h", "RATE_LIMIT_USER": "10/1h"}
    with Web(REDIS_URL=broker.url, WEB_WORKERS="1", **limits) as web:
        callers = Callers(web, api.key)
        usual = callers.timed("/api/v1/chatbots", 10)[5]
        assert callers.get("/api/v1/chatbots").status_code == 429
        assert callers.get("/readyz").json()["status"] == "ok"
        with fault(broker):
            wait_until(lambda: callers.get("/api/v1/chatbots").status_code == 200, told=web.said)
            # Compare medians, because a busy machine can delay individual calls.
            assert callers.timed("/api/v1/chatbots", 100)[50] < usual + 0.25
            ready = callers.get("/readyz")
            assert ready.status_code == 200
            assert ready.json()["status"] == "degraded"
            assert ready.json()["parts"]["cache"] == "unavailable"
            assert callers.figure("chatbots_cache_up") == 0
            assert callers.figure("chatbots_cache_outages_total") == 1
            assert callers.timed("/admin/login/", 10)[5] < usual + 0.5
            assert {callers.wrong_password() for _ in range(7)} == {200}
            assert callers.timed("/docs", 20)[10] < usual + 0.25
            there = f"/api/v1/chatting/{chatbot.pk}/thread/{thread.pk}/message"
            sent = [callers.post(there, {"content": "Hi"}).status_code for _ in range(5)]
            assert sent == [200, 200, 200, 429, 429]
            [line] = [line for line in web.said().splitlines() if OPEN in line]
            assert '"level": "ERROR"' in line
        wait_until(lambda: callers.get("/readyz").json()["status"] == "ok", told=web.said)
        wait_until(lambda: "rate limits are enforced again" in web.said(), told=web.said)
        wait_until(lambda: callers.get("/api/v1/chatbots").status_code == 429, told=web.said)
