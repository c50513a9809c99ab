"""Endpoints are configured, their secrets are replaced, and sample events are sent to them."""

from typing import Any

import pytest

from chatbots.models import Chatbot
from webhooks import sealing
from webhooks.models import Endpoint
from webhooks.models.endpoint import FIRST_LIMIT
from webhooks.services.endpoint import (
    configure,
)

pytestmark = [pytest.mark.django_db, pytest.mark.proves("Events")]
URL = "https://hooks.example.com/bot"


def stored() -> dict[str, Any]:
    return Endpoint.objects.values().get()


def secret_of(endpoint: Endpoint) -> str:
    return sealing.unseal(Endpoint.objects.get(pk=endpoint.pk).sealed_secret)


def test_a_second_configuration_replaces_everything_that_is_not_kept(chatbot: Chatbot) -> None:
    first, secret = configure(chatbot, url=URL)
    Endpoint.objects.update(failures_in_a_row=3, timed_out=True, attempts_limit=64)
    second, told = configure(chatbot, url=f"{URL}/2", keep_secret=True, is_active=False)
    assert (second.pk, told, secret_of(second)) == (first.pk, None, secret)
    now = stored()
    assert (now["url"], now["is_active"]) == (f"{URL}/2", False)
    health = now["failures_in_a_row"], now["timed_out"], now["attempts_limit"]
    assert health == (0, False, FIRST_LIMIT), "reset for the new URL"
