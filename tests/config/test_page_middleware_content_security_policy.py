"""Pages run no inline scripts and load nothing from other origins."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import LlmModel
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant

INLINE = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>|\son\w+=\"|javascript:")
OUTSIDE = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?:https?:)?//")


@pytest.mark.parametrize("address", ["/admin/login/", "/docs"])
def test_a_page_has_the_policy(db: None, address: str) -> None:
    policy = Client().get(address)["Content-Security-Policy"]
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert scripts == "script-src 'self'"
    assert "default-src 'self'" in policy


@pytest.mark.parametrize("address", ["/healthz", "/openapi.json"])
def test_json_responses_have_no_policy(db: None, address: str) -> None:
    assert "Content-Security-Policy" not in Client().get(address)


def test_no_page_contains_anything_that_the_policy_blocks(default_model: LlmModel) -> None:
    tenant = Tenant("mine")
    client = signed_in(superuser())
    pages = [reverse("admin:index"), "/docs"]
    for row in tenant.rows:
        name = row._meta.label_lower.replace(".", "_")
        if name.split("_")[1] in {"chatbot", "thread", "delivery", "account", "instruction"}:
            pages += [
                reverse(f"admin:{name}_changelist"),
                reverse(f"admin:{name}_change", args=[row.pk]),
            ]
    for address in [*pages, reverse("admin:webhooks_endpoint_of", args=[tenant.chatbot.pk])]:
        page = client.get(address)
        assert page.status_code == 200, address
        text = page.content.decode()
        assert not INLINE.search(text), (address, INLINE.search(text))
        assert not OUTSIDE.search(text), (address, OUTSIDE.search(text))
