"""Failures are grouped by cause, and each group links to the deliveries in the log."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories import bulk
from tests.factories.bulk import AGES
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import AGENTS, signed_in, staff, superuser
from tests.factories.webhooks import DeliveryFactory

CAUSES = reverse("admin:webhooks_delivery_causes")
LOG = reverse("admin:webhooks_delivery_changelist")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, AGENTS))


def listed(client: Client, address: str) -> int:
    return len(set(re.findall(r"/delivery/([0-9a-f-]{36})/change/", client.get(address).text)))


def test_failures_are_grouped_by_cause_with_advice_and_a_link(
    client: Client, chatbot: Chatbot
) -> None:
    ended = {"state": "FAILED", "due_at": None, "attempts_count": 4}
    for _ in range(3):
        DeliveryFactory(chatbot=chatbot, last_code=503, **ended)
    DeliveryFactory(chatbot=chatbot, last_reason="TIMEOUT", **ended)
    DeliveryFactory(chatbot=chatbot, last_code=200, **ended | {"state": "SUCCESS"})
    DeliveryFactory(last_code=404, **ended)
    text = client.get(CAUSES).text
    rows = re.findall(r"<tr>\s*<td>.*?</tr>", text, re.DOTALL)
    assert [re.search(r"\d+|timeout", re.sub("<[^>]*>", "", row))[0] for row in rows] == [
        "503",
        "timeout",
    ]
    assert "look at its own log" in rows[0]
    assert "<td>3<" in rows[0]
    links = [unescape(re.search(r'href="([^"]+)"', row)[1]) for row in rows]
    assert [listed(client, link) for link in links] == [3, 1]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("code=5xx", 3),
        ("code=4xx", 1),
        ("code=none", 1),
        ("code=2xx", 1),
        ("code=6xx", 0),
        ("cause=503", 1),
        ("cause=TIMEOUT", 1),
        ("cause=nonsense", 0),
        ("code=5xx&cause=500", 1),
        ("cause=999", 1),
    ],
)
def test_the_log_can_be_filtered_by_code_and_cause(
    client: Client, chatbot: Chatbot, query: str, count: int
) -> None:
    for code, reason in ((500, ""), (503, ""), (999, ""), (404, ""), (None, "TIMEOUT")):
        DeliveryFactory(chatbot=chatbot, attempts_count=1, last_code=code, last_reason=reason)
    DeliveryFactory(chatbot=chatbot, attempts_count=1, last_code=204, state="SUCCESS")
    DeliveryFactory(chatbot=chatbot)
    assert listed(client, f"{LOG}?{query}") == count


def test_the_log_can_be_filtered_by_account(chatbot: Chatbot) -> None:
    mine, other = DeliveryFactory(chatbot=chatbot), DeliveryFactory()
    client = signed_in(superuser())
    text = client.get(f"{LOG}?account={chatbot.account_id}").text
    assert str(mine.pk) in text
    assert str(other.pk) not in text
    assert listed(client, f"{LOG}?account=nonsense") == 0


def plan_of(statement: str) -> str:
    """Return a statement's plan. On PostgreSQL, it includes the actual row count of each step."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
            return "\n".join(str(row[-1]) for row in cursor.fetchall())
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) {statement}")
        return "\n".join(row[0] for row in cursor.fetchall())


def steps_of(statement: str) -> int:
    """Return the number of SQLite virtual machine steps that a statement takes, in thousands."""
    steps = 0

    def note() -> None:
        nonlocal steps
        steps += 1

    with connection.cursor() as cursor:
        connection.connection.set_progress_handler(note, 1_000)
        try:
            cursor.execute(statement)
            cursor.fetchall()
        finally:
            connection.connection.set_progress_handler(None, 0)
    return steps


@pytest.mark.parametrize("query", ["", "?event__exact=NEW_LEAD", "?cause=503"])
def test_the_page_of_causes_reads_only_failures_that_the_person_may_see(
    client: Client, chatbot: Chatbot, query: str
) -> None:
    ended = {"due_at": None, "attempts_count": 4, "last_code": 503}
    columns = {"created_at": AGES[connection.vendor], "position": "s.n"}
    mine = DeliveryFactory(chatbot=chatbot, state="FAILED", **ended)
    bulk.copy(mine, 10, columns)
    other = ChatbotFactory(account=chatbot.account)
    bulk.copy(DeliveryFactory(chatbot=other, state="SUCCESS", **ended), 2_000, columns)
    for _ in range(20):
        bulk.copy(DeliveryFactory(state="FAILED", **ended), 1_000, columns)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as made:
        text = client.get(f"{CAUSES}{query}").text
    assert ("<td>11<" in text) == (query != "?event__exact=NEW_LEAD")
    read = [q["sql"] for q in made if re.search("WHERE.* \\(?[^ ]*failed_of", q["sql"])]
    assert any(sql.startswith('SELECT "webhooks_delivery"."last_code"') for sql in read)
    for sql in read:
        plan = plan_of(sql)
        assert "delivery_failed" in plan, plan
        assert not re.search(r"rows=\d{5,}(\.\d+)? loops|Removed by Filter: \d{5,}", plan), plan
        if connection.vendor == "sqlite":
            assert steps_of(sql) < 30, plan
