"""Lead settings that are added in the admin are stored, even if no value is changed."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, LeadSettings
from tests.pages import submit

pytestmark = pytest.mark.django_db


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
