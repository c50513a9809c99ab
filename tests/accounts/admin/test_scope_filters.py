"""The filter panels and tabs of lists: their headings, and the parameters that links keep."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from tests.pages import Fields

PANEL = re.compile(r'<form id="filter-form".*?</form>', re.DOTALL)
TABS = re.compile(r'<nav class="tabs".*?</nav>', re.DOTALL)
LOG = reverse("admin:webhooks_delivery_changelist")
INBOX = reverse("admin:conversations_thread_changelist")


@pytest.fixture
def client(default_model: Any) -> Client:
    Tenant("mine")
    return signed_in(superuser())


def panel(client: Client, address: str) -> str:
    found = PANEL.search(client.get(address).text)
    return found[0] if found else ""


def test_a_new_filter_begins_on_the_first_page_and_keeps_the_search(client: Client) -> None:
    fields = Fields()
    fields.feed(panel(client, f"{LOG}?after=2026-01-01T00:00:00Z~{'0' * 32}&q={'0' * 32}"))
    assert "after" not in fields.values
    assert fields.values["q"] == "0" * 32


@pytest.mark.parametrize(
    ("address", "query", "tab"),
    [
        (LOG, f"event__exact=NEW_LEAD&is_test__exact=0&q={'0' * 32}", "state__exact=FAILED"),
        (INBOX, "escalated=1&tag=billing", "view=mine"),
    ],
)
def test_the_tabs_of_a_list_keep_its_other_filters(
    client: Client, address: str, query: str, tab: str
) -> None:
    [tabs] = TABS.findall(client.get(f"{address}?{tab}&{query}").text)
    links = [parse_qs(unescape(link)[1:]) for link in re.findall('href="([^"]*)"', tabs)]
    assert len(links) >= 5
    assert len({str(link) for link in links}) == len(links)
    for link in links:
        assert parse_qs(query).items() <= link.items()


def test_a_tab_begins_on_its_first_page(client: Client) -> None:
    [tabs] = TABS.findall(client.get(f"{LOG}?after=2026-01-01T00:00:00Z~{'0' * 32}").text)
    assert "after=" not in tabs


def test_a_delivery_links_back_to_the_filtered_log(client: Client) -> None:
    filtered = f"{LOG}?is_test__exact=0&state__exact=FAILED"
    row = re.search(rf'href="({LOG}[^"]+/change/[^"]*)"', client.get(filtered).text)
    assert row
    back = re.search(rf'href="({LOG}[^"]*)">Deliveries<', client.get(unescape(row[1])).text)
    assert back
    assert unescape(back[1]) == filtered
