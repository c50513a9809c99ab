"""The `revoke_api_key PREFIX` command."""

import pytest
from django.core.management.base import CommandError

from accounts import keys
from tests.commands import check_rejection, record, run
from tests.conftest import Api
from tests.factories.accounts import UserFactory

pytestmark = pytest.mark.django_db


def test_an_unknown_prefix_is_reported() -> None:
    check_rejection("revoke_api_key", "cbk_none", message="no API key cbk_none")


def test_an_unknown_key_is_not_repeated_in_the_error() -> None:
    key = keys.make().text
    with pytest.raises(CommandError, match=r"no API key cbk_\w{8}$"):
        run("revoke_api_key", key)
    with pytest.raises(CommandError, match=r"no API key cbk_\w{8}\*{4}$"):
        run("revoke_api_key", key + "x")


@pytest.mark.parametrize("given", ["prefix", "apiKey"])
def test_a_key_is_revoked_by_its_prefix_or_by_the_whole_key(given: str) -> None:
    made = record("issue_api_key", UserFactory().email)
    ended = record("revoke_api_key", made[given])
    assert list(ended) == ["prefix", "revokedAt"]
    assert Api(made["apiKey"]).get("/v1/chatbots").status_code == 401
