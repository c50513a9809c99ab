"""The admin's menu, its counts, and the breadcrumbs that use its labels."""

import re
from html import unescape
from typing import Any
from urllib.parse import urljoin

import pytest
from django.contrib.admin import site
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from config.models import PeriodicWork
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant

HOME = reverse("admin:index")


def test_the_menu_shows_only_permitted_pages(client: Client) -> None:
    shown = client.get(HOME).content.decode()
    assert reverse("admin:webhooks_delivery_changelist") in shown
    assert reverse("admin:accounts_plan_changelist") not in shown


@pytest.mark.slow
def test_every_list_can_be_reached_from_the_menu(default_model: Any) -> None:
    """Follow the links from the home page, and open one page of each kind."""
    tenant, client = Tenant("mine"), signed_in(superuser())
    PeriodicWork.objects.get_or_create(name="prune", due_at=timezone.now())
    assert tenant.rows
    found, asked, waiting = {HOME}, set[str](), [HOME]
    while waiting:
        address = waiting.pop()
        kind = resolve(address).view_name
        if kind in asked or kind.endswith(("logout", "_export", "_delete")):
            continue
        asked.add(kind)
        page = client.get(address)
        if not page.get("Content-Type", "").startswith("text/html") or page.status_code != 200:
            continue
        links = {
            urljoin(address, unescape(link)).partition("?")[0].partition("#")[0]
            for link in re.findall(r'<a[^>]* href="([^"]*)"', page.content.decode())
        }
        new = {link for link in links if link.startswith(HOME)} - found
        found |= new
        waiting += sorted(new)
    lists = {reverse(f"admin:{label}_changelist") for label in labels()}
    assert lists - found <= {reverse(f"admin:chatbots_{name}_changelist") for name in BELOW}


def labels() -> list[str]:
    return [model._meta.label_lower.replace(".", "_") for model in site._registry]


# These models need no menu entry, because a chatbot's page lists their rows.
BELOW = ("conversationstarter", "instruction", "localization", "persona")
