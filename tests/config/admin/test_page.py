"""Rules for all pages: table headers have text, failed forms can be resent, secrets appear once."""

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from accounts.models import ApiKey
from accounts.services import api_key
from tests.admin_urls import addresses
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from webhooks.models import Endpoint

SECRET = re.compile(r'id="secret-text"[^>]* value="([^"]+)"')


@pytest.mark.slow
def test_no_page_shows_a_secret_again(default_model: Any) -> None:
    """Create secrets in every way that the admin offers, and look for them on all pages."""
    tenant, kim = Tenant("mine"), superuser()
    client, bot = signed_in(kim), ChatbotFactory(account=tenant.account)
    offered = api_key.offer(kim)
    configured = {"url": "https://example.com/hook", "events": "NEW_LEAD"}
    secrets = []
    for name, row, form in (
        ("accounts_apikey_add", None, {"email": kim.email}),
        ("accounts_apikey_collect", offered, {}),
        ("accounts_apikey_rotate", offered, {"grace": "0"}),
        ("webhooks_endpoint_secret", tenant.chatbot, {"secret_choice": "make"}),
        ("webhooks_endpoint_of", bot, configured | {"secret_choice": "make"}),
    ):
        answer = client.post(reverse(f"admin:{name}", args=[row.pk] if row else []), form)
        secrets += map(unescape, SECRET.findall(answer.text))
    assert len(secrets) == 5
    tenant.rows += [*ApiKey.objects.filter(user=kim), *Endpoint.objects.filter(chatbot=bot)]
    for address in dict.fromkeys(addresses(tenant)):
        answer = client.get(address)
        text = unescape(b"".join(answer).decode())
        assert not [secret for secret in secrets if secret in text], address
