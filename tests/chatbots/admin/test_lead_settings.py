"""The admin stores lead settings even if all are defaults, and validates them as the API does."""

import json
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, LeadSettings
from chatbots.models.lead_settings import ShareDetails
from tests.factories.chatbots import LeadSettingsFactory
from tests.pages import fields_of, submit

pytestmark = pytest.mark.django_db
SHARING = "leadsettings-0-when_user_share_details"


def test_lead_settings_with_default_values_are_stored(client: Client, chatbot: Chatbot) -> None:
    defaults = {
        f"leadsettings-0-{field.name}": "on"
        for field in LeadSettings._meta.concrete_fields
        if field.get_default() is True
    }
    assert len(defaults) == 4
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    submit(client, address, **{"leadsettings-TOTAL_FORMS": "1"}, **defaults)
    assert LeadSettings.objects.get().chatbot == chatbot


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


@pytest.mark.parametrize("value", ["", *ShareDetails.values])
def test_a_documented_way_to_share_contact_details_is_saved(
    client: Client, chatbot: Chatbot, value: str
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    submit(client, address, **{SHARING: value})
    assert LeadSettings.objects.get().when_user_share_details == value
    assert fields_of(client.get(address))[SHARING] == value


def test_another_way_to_share_contact_details_is_a_form_error(
    client: Client, chatbot: Chatbot
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    answer = submit(client, address, **{SHARING: "foo"})
    assert "foo is not one of the available choices" in answer.text
    assert LeadSettings.objects.get().when_user_share_details == ""
