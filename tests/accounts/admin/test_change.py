"""The pages of the audit trail."""

import re

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import ApiKey, Change
from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser

CELLS = re.compile(r"<tr><th scope=\"row\">([^<]*)</th><td>([^<]*)</td><td>([^<]*)</td></tr>")


def values_of(client: Client, row: object) -> dict[str, tuple[str, str]]:
    """Return each field's old and new values, as shown on the page of the row's last change."""
    change = Change.objects.get_for_object(row).latest("timestamp")
    page = client.get(reverse("admin:accounts_change_change", args=[change.pk])).text
    return {name: (old, new) for name, old, new in CELLS.findall(page)}


def test_a_change_that_no_request_made_says_so(chatbot: Chatbot) -> None:
    ApiKey.objects.create(user=chatbot.account.owner, prefix="cbk_12345678")
    change = Change.objects.filter(account=None).latest("timestamp")
    page = signed_in(superuser()).get(reverse("admin:accounts_change_change", args=[change.pk]))
    shown = re.sub(r"(<[^>]*>|\s)+", " ", page.text)
    assert "Account none Request id none Values" in shown


def test_times_are_marked_as_utc_and_empty_texts_as_empty(chatbot: Chatbot) -> None:
    client = signed_in(superuser())
    key = ApiKey.objects.create(
        user=chatbot.account.owner, label="first", prefix="cbk_12345678", digest="0" * 64
    )
    key.label, key.revoked_at = "", timezone.now()
    key.save()
    shown = values_of(client, key)
    assert shown["label"] == ("first", "(empty)")
    assert shown["revoked at"][0] == "(none)"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:.]+ UTC", shown["revoked at"][1])
