import pytest
from django.utils import timezone

from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import signed_in, superuser

pytestmark = pytest.mark.django_db
BADGE = b"min-w-[18px] bg-red-100"


def test_the_menu_has_badges_only_for_counts_above_zero() -> None:
    staff = signed_in(superuser())
    assert BADGE not in staff.get("/admin/accounts/plan/").content
    MessageFactory(thread=ThreadFactory(escalated=True, waiting_since=timezone.now()))
    page = staff.get("/admin/accounts/plan/").content
    assert page.count(BADGE) == 1
