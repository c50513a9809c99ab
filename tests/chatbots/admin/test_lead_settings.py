"""The admin stores lead settings even if all are defaults, and validates them as the API does."""

import json
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from tests.pages import fields_of

pytestmark = pytest.mark.django_db


def test_an_invalid_item_of_a_list_is_named(client: Client, chatbot: Chatbot) -> None:
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    good = {"display_label": "City", "field_name": "city", "field_type": "text"}
    given = {
        "leadsettings-TOTAL_FORMS": "1",
        "leadsettings-0-lead_notification_email": "\nann@example.com\nann at home",
        "leadsettings-0-customer_form_field": json.dumps([good, good | {"field_type": 1}]),
    }
    text = unescape(client.post(address, fields_of(client.get(address)) | given).text)
    assert "“ann at home”: " in text
    assert "item 2, field_type: " in text
