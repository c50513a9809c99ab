"""The locks taken when API keys are rotated."""

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiKey
from accounts.services.api_key import issue, replace, shorten_grace
from tests.factories.accounts import UserFactory


@pytest.mark.django_db
@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite locks the whole database")
def test_a_rotation_locks_keys_but_not_their_owners() -> None:
    key, _ = issue(UserFactory())
    with CaptureQueriesContext(connection) as made:
        shorten_grace(ApiKey.objects.all(), grace_hours=1)
        assert replace(key, grace_hours=1)
    locking = [query["sql"] for query in made if "FOR UPDATE" in query["sql"]]
    assert len(locking) == 2
    assert {sql.partition("FOR UPDATE")[2] for sql in locking} == {' OF "accounts_apikey"'}
