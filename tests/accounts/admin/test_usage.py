"""A month's usage in the admin."""

import pytest
from django.utils import timezone

from accounts.models import Usage
from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser
from tests.pages import submit


@pytest.mark.parametrize(
    ("told", "shown"), [(0, "not yet"), (80, "at 80% of the quota")], ids=["not yet", "at 80%"]
)
def test_a_month_shows_whether_the_owner_was_notified(
    chatbot: Chatbot, told: int, shown: str
) -> None:
    month = timezone.now().date().replace(day=1)
    usage = Usage.objects.create(account=chatbot.account, month=month, messages=8, told=told)
    page = signed_in(superuser()).get(f"/admin/accounts/usage/{usage.pk}/change/").text
    assert "Owner notified" in page
    assert shown in page


def test_a_rejected_form_with_a_row_for_an_unknown_month_is_shown_again(chatbot: Chatbot) -> None:
    """A month that the page listed may have been deleted since the page was opened."""
    month = timezone.now().date().replace(day=1)
    Usage.objects.create(account=chatbot.account, month=month, messages=8)
    address = f"/admin/accounts/account/{chatbot.account_id}/change/"
    wrong = {"name": "", "usages-0-id": "123456"}
    assert submit(signed_in(superuser()), address, **wrong).status_code == 200
