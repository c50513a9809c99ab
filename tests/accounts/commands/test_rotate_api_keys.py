"""The `rotate_api_keys (--user EMAIL | --account ID | --all) [--grace HOURS]` command."""

from typing import Any
from uuid import UUID

import pytest

from accounts.models import ApiKey
from tests.commands import check_rejection, record
from tests.conftest import Api
from tests.factories.accounts import MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one of the arguments"),
        (["--all", "--user", "x"], "not allowed"),
        (["--account", "5"], "'5' is not an id"),
        (["--account", str(UUID(int=1))], "no account"),
        *((["--user", email], "no person") for email in ("no@example.com", "")),
        *(
            (["--all", "--grace", grace], "--grace must be from 0 to")
            for grace in ("-1", "8761", "nan")
        ),
    ],
)
def test_invalid_input_is_reported_and_rotates_nothing(words: list[str], message: str) -> None:
    record("issue_api_key", UserFactory().email)
    check_rejection("rotate_api_keys", *words, message=message)
    assert ApiKey.objects.replaceable().count() == ApiKey.objects.count() == 1


@pytest.fixture
def people() -> dict[str, Any]:
    member = MembershipFactory()
    people = {"member": member.user, "owner": member.account.owner, "other": UserFactory()}
    return {"account": member.account} | people


@pytest.mark.parametrize(
    ("words", "whose"),
    [
        (["--user", "{owner.email}"], {"owner"}),
        (["--account", "{account.pk}"], {"owner", "member"}),
        (["--all"], {"owner", "member", "other"}),
    ],
)
def test_only_the_selected_keys_are_rotated(
    people: dict[str, Any], words: list[str], whose: set[str]
) -> None:
    persons = ("owner", "member", "other")
    old = {name: record("issue_api_key", people[name].email)["apiKey"] for name in persons}
    made = record("rotate_api_keys", *[word.format(**people) for word in words])
    assert {each["email"] for each in made} == {people[name].email for name in whose}
    assert all(Api(each["apiKey"]).get("/v1/chatbots").status_code == 200 for each in made)
    ended = {name for name in persons if Api(old[name]).get("/v1/chatbots").status_code == 401}
    assert ended == whose


@pytest.mark.parametrize(
    ("second", "old_key"), [("24", 200), ("0", 401)], ids=["same grace period", "no grace period"]
)
def test_a_second_rotation_does_not_double_the_keys(
    people: dict[str, Any], second: str, old_key: int
) -> None:
    old = record("issue_api_key", people["owner"].email, "--expires", "30")["apiKey"]
    words = ("rotate_api_keys", "--user", people["owner"].email, "--grace")
    [first] = record(*words, "24")
    [newest] = record(*words, second)
    answers = [
        Api(key).get("/v1/chatbots").status_code for key in (old, first["apiKey"], newest["apiKey"])
    ]
    assert answers == [old_key, old_key, 200]
    assert len(record(*words, "24")) == 1
