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

TABS = re.compile(r'<nav class="tabs".*?</nav>', re.DOTALL)
LOG = reverse("admin:webhooks_delivery_changelist")
INBOX = reverse("admin:conversations_thread_changelist")


@pytest.fixture
def client(default_model: Any) -> Client:
    Tenant("mine")
    return signed_in(superuser())


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
