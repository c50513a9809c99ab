"""The routes of the admin's site, and the page that people return to after signing in."""

import pytest
from django.contrib.contenttypes.models import ContentType

from accounts.models import Account
from tests.factories.staff import signed_in, superuser


@pytest.mark.parametrize("key", ["x", "0" * 32])
def test_no_row_has_a_public_page(db: None, key: str) -> None:
    kind = ContentType.objects.get_for_model(Account)
    assert signed_in(superuser()).get(f"/admin/r/{kind.pk}/{key}/").status_code == 404
