"""The filter panels and tabs of lists: their headings, and the parameters that links keep."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from tests.pages import Fields

PANEL = re.compile(r'<form id="filter-form".*?</form>', re.DOTALL)
HEADING = re.compile(r"<(h3|label)\b[^>]*font-semibold[^>]*>(.*?)</\1>", re.DOTALL)
TABS = re.compile(r'<nav class="tabs".*?</nav>', re.DOTALL)
LOG = reverse("admin:webhooks_delivery_changelist")
INBOX = reverse("admin:conversations_thread_changelist")
OWNER = "app_label=accounts&model_name=account&field_name=owner"  # a searchable form field
IN_THE_LOG = "Event, State, Last response, Cause, Tests, Account, Chatbot, Created (UTC)"


@pytest.fixture
def client(default_model: Any) -> Client:
    Tenant("mine")
    return signed_in(superuser())


def panel(client: Client, address: str) -> str:
    found = PANEL.search(client.get(address).text)
    return found[0] if found else ""


def headings(client: Client, address: str) -> list[str]:
    return [unescape(text).strip() for _, text in HEADING.findall(panel(client, address))]


@pytest.mark.slow
def test_every_filter_has_a_heading_in_plain_words(client: Client) -> None:
    names = [model._meta.label_lower.replace(".", "_") for model in admin.site._registry]
    lists = [reverse(f"admin:{name}_changelist") for name in names]
    named = [words for address in lists for words in headings(client, address)]
    assert len(named) > 25
    assert [words for words in named if not re.match(r"(?!By |Is )[A-Z]", words)] == []
    assert headings(client, LOG) == IN_THE_LOG.split(", ")


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


@pytest.mark.parametrize(
    "beginning",
    [
        f"{reverse('admin:accounts_account_changelist')}?q=",
        f"{reverse('admin:accounts_account_changelist')}?plan_begins=",
        f"{reverse('admin:chatbots_chatbot_why')}?chatbot_begins=",
        f"{reverse('admin:autocomplete')}?{OWNER}&term=",
    ],
)
def test_a_text_longer_than_any_name_can_be_searched_for(client: Client, beginning: str) -> None:
    """SQLite rejects patterns of more than 50,000 bytes."""
    assert client.get(beginning + "a" * 60_000).status_code == 200
