"""In long lists, each row is on exactly one page, and all pages need the same number of queries."""

from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser

LOG = reverse("admin:webhooks_delivery_changelist")


@pytest.fixture
def client(db: None) -> Client:
    return signed_in(superuser())


OUT_OF_RANGE = ("0001-01-01T00:00:00", "0001-01-01T00:00+23:59", "9999-12-31T23:59-23:59")
PLACES = (*(f"{time}~{'0' * 32}" for time in ("yesterday", *OUT_OF_RANGE)), "2026-01-01~x")


@pytest.mark.parametrize("place", ["x", "~", "1", *PLACES])
def test_an_invalid_position_redirects_to_the_list(
    client: Client, chatbot: Chatbot, place: str
) -> None:
    answer = client.get(f"{LOG}?after={quote(place)}")
    assert (answer.status_code, answer["Location"]) == (302, f"{LOG}?e=1")
