"""Exports: the rows of a list as CSV and JSON, streamed and safe for spreadsheets."""

import csv
import json
from io import StringIO
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatbots.models import Chatbot
from config.admin import export
from tests.factories.accounts import UserFactory
from tests.factories.conversations import LeadFactory, ThreadFactory
from tests.factories.staff import signed_in
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

NAME = "0123456789abcdef" * 2
HOSTILE = ["=1+1", "+1", "-1", "@a", "\tx", "\rx"]


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner)


def exported(client: Client, model: str, kind: str, query: str = "") -> Any:
    answer = client.get(f"{reverse(f'admin:{model}_export', args=[kind])}{query}")
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment; ")
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return json.loads(text) if kind == "json" else list(csv.reader(StringIO(text, newline="")))


@pytest.mark.parametrize("name", [*HOSTILE, "Anna", "a=b", ""])
def test_no_cell_of_a_csv_file_is_a_formula_and_json_is_exact(
    client: Client, chatbot: Chatbot, name: str
) -> None:
    LeadFactory(thread=ThreadFactory(chatbot=chatbot), name=name)
    names, row = exported(client, "conversations_lead", "csv")
    assert row[names.index("name")] == (f"'{name}" if name in HOSTILE else name)
    [record] = exported(client, "conversations_lead", "json")
    assert record["name"] == name


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 9])
def test_an_export_holds_every_row_once_whatever_the_size_of_its_chunks(
    client: Client, chatbot: Chatbot, monkeypatch: pytest.MonkeyPatch, kind: str, count: int
) -> None:
    monkeypatch.setattr(export, "CHUNK", 4)
    rows = [DeliveryFactory(chatbot=chatbot) for _ in range(count)]
    with CaptureQueriesContext(connection) as made:
        found = exported(client, "webhooks_delivery", kind)
    ids = [row["id"] if kind == "json" else row[0] for row in found[kind == "csv" :]]
    assert ids == [str(row.pk) for row in reversed(rows)]
    assert (
        len([q for q in made if "ORDER BY" in q["sql"] and "LIMIT 4" in q["sql"]]) <= 1 + count // 4
    )


def test_an_export_has_the_filters_and_the_scope_of_its_list(
    client: Client, chatbot: Chatbot
) -> None:
    wanted = DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=None, last_code=503)
    DeliveryFactory(chatbot=chatbot)
    DeliveryFactory(state="FAILED", due_at=None)
    [record] = exported(client, "webhooks_delivery", "json", "?state__exact=FAILED")
    assert (record["id"], record["responseCode"]) == (str(wanted.pk), 503)
    assert record["createdAt"].endswith("Z")
    address = reverse("admin:webhooks_delivery_export", args=["csv"])
    assert client.get(f"{address}?chatbot__account__owner__password__regex=x").status_code == 400


def test_an_export_of_threads_has_their_tags_and_the_view_of_the_list(
    client: Client, chatbot: Chatbot
) -> None:
    thread = ThreadFactory(chatbot=chatbot, tags=["a", "b"], title="=1+1")
    ThreadFactory(chatbot=chatbot, resolved=True)
    names, row = exported(client, "conversations_thread", "csv", "?view=open")
    assert row[names.index("id")] == str(thread.pk)
    assert row[names.index("tags")] == '["a","b"]'
    assert row[names.index("title")] == "'=1+1"
    assert len(exported(client, "conversations_thread", "json", "?view=resolved")) == 1


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_an_export_that_the_database_interrupts_does_not_look_complete(
    client: Client, chatbot: Chatbot, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(export, "CHUNK", 2)
    for _ in range(5):
        DeliveryFactory(chatbot=chatbot)
    answer = client.get(reverse("admin:webhooks_delivery_export", args=[kind]))
    pieces = iter(answer.streaming_content)
    text = b"".join(next(pieces) for _ in range(2 if kind == "csv" else 1))

    def fail(*_: Any) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(export, "rows_after", fail)
    text += b"".join(pieces)
    if kind == "csv":
        assert export.INCOMPLETE in text.decode().splitlines()[-1]
    else:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


def test_an_unknown_format_and_a_person_without_a_role_are_refused(
    client: Client, chatbot: Chatbot
) -> None:
    DeliveryFactory(chatbot=chatbot)
    assert client.get(reverse("admin:webhooks_delivery_export", args=["xml"])).status_code == 403
    chatbot.account.owner = UserFactory()
    chatbot.account.save()
    assert Delivery.objects.exists()
    for model in ("webhooks_delivery", "conversations_lead", "conversations_thread"):
        address = reverse(f"admin:{model}_export", args=["csv"])
        assert "/login/" in client.get(address)["Location"]
