"""The `revoke_api_key PREFIX` command."""

import pytest

from tests.commands import check_help, check_rejection, record
from tests.conftest import Api
from tests.factories.accounts import UserFactory

pytestmark = pytest.mark.django_db


def test_it_has_a_help_text(capsys: pytest.CaptureFixture[str]) -> None:
    check_help("revoke_api_key", capsys)


def test_an_unknown_prefix_is_reported() -> None:
    check_rejection("revoke_api_key", "cbk_none", message="no API key cbk_none")


def test_a_key_is_revoked_by_its_prefix() -> None:
    made = record("issue_api_key", UserFactory().email)
    ended = record("revoke_api_key", made["prefix"])
    assert list(ended) == ["prefix", "revokedAt"]
    assert Api(made["apiKey"]).get("/v1/chatbots").status_code == 401
