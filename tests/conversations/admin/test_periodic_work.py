"""The admin's list of periodic work."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from config.models import PeriodicWork
from conversations.dispatcher import PERIODIC
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser

pytestmark = pytest.mark.django_db
LIST = reverse("admin:config_periodicwork_changelist")
HOME = reverse("admin:index")


@pytest.fixture(autouse=True)
def _work() -> None:
    PeriodicWork.objects.add(PERIODIC)


def test_a_superuser_sees_all_periodic_work() -> None:
    client = signed_in(superuser())
    assert LIST in client.get(HOME).content.decode()
    page = client.get(LIST).content.decode()
    for name in PERIODIC:
        assert name in page
    assert "not running" in page
    work = reverse("admin:config_periodicwork_change", args=["count activity"])
    assert client.get(work).status_code == 200


def test_other_staff_see_no_periodic_work(chatbot: Chatbot) -> None:
    client: Client = signed_in(staff(chatbot.account.owner, ACCOUNT_ADMINS))
    assert LIST not in client.get(HOME).content.decode()
    assert client.get(LIST).status_code == 403
