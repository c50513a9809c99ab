"""After five wrong passwords, more attempts are refused for a while."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import hashers
from django.test import Client
from django.urls import reverse

from accounts.hashing import PasswordHasher
from accounts.models import User
from accounts.sign_in import FAILURES_OF_ADDRESS
from tests import counters
from tests.factories.accounts import UserFactory
from tests.factories.staff import signed_in

LOGIN, CHANGE = reverse("admin:login"), reverse("admin:password_change")
TOLD = "Too many failed attempts. Try again in"


@pytest.fixture(autouse=True)
def still_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Freeze the clock, so that failures do not expire during a test."""
    counters.forget()
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    yield


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PasswordHasher, "iterations", 1)


@pytest.fixture
def person(db: None) -> User:
    user = UserFactory(email="ann@example.com", is_staff=True, is_superuser=True)
    user.set_password("right-password-1")
    user.save()
    return user


def sign_in(password: str, name: str = "ann@example.com", address: str = "192.0.2.1") -> Any:
    body = {"username": name, "password": password}
    return Client(REMOTE_ADDR=address).post(LOGIN, body)


def test_after_five_failures_even_the_right_password_is_rejected(person: User) -> None:
    for _ in range(5):
        answer = sign_in("wrong")
        assert TOLD not in answer.content.decode()
    for password in ("wrong", "right-password-1"):
        answer = sign_in(password)
        assert answer.status_code == 200
        assert TOLD in answer.content.decode()
        assert "Please enter the correct" not in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "address"),
    [("bob@example.com", "192.0.2.1"), ("ann@example.com", "192.0.2.2")],
    ids=["another name", "another address"],
)
def test_other_names_and_addresses_are_not_blocked(person: User, name: str, address: str) -> None:
    for _ in range(6):
        sign_in("wrong", name="ann@example.com", address="192.0.2.1")
    assert TOLD not in sign_in("wrong", name=name, address=address).content.decode()


@pytest.mark.parametrize(
    "name", ["ANN@example.com", " ann@example.com ", "\uff41nn@example.com", "ANn@Example.com"]
)
def test_all_spellings_of_a_name_share_one_count(person: User, name: str) -> None:
    for _ in range(5):
        sign_in("wrong")
    assert TOLD in sign_in("wrong", name=name).content.decode()


def test_a_successful_sign_in_is_not_counted(person: User) -> None:
    for _ in range(4):
        sign_in("wrong")
    for _ in range(3):
        assert sign_in("right-password-1").status_code == 302
    sign_in("wrong")
    assert TOLD in sign_in("wrong").content.decode()


def change_password(client: Client, old: str, address: str = "192.0.2.1") -> Any:
    new = {"new_password1": "another-password-2", "new_password2": "another-password-2"}
    return client.post(CHANGE, {"old_password": old, **new}, REMOTE_ADDR=address)


def test_an_open_session_cannot_guess_the_password_without_limit(person: User) -> None:
    client = signed_in(person)
    for number in range(5):
        answer = change_password(client, "wrong", address=f"192.0.2.{number}")
        assert "Your old password was entered incorrectly" in answer.text
    for old in ("wrong", "right-password-1"):
        answer = change_password(client, old, address="192.0.2.9")
        assert TOLD in answer.text
        assert "entered incorrectly" not in answer.text
    assert sign_in("right-password-1").status_code == 302


def test_the_right_old_password_is_not_counted_and_changes_the_password(person: User) -> None:
    client = signed_in(person)
    for _ in range(4):
        change_password(client, "wrong")
    assert change_password(client, "right-password-1").status_code == 302
    assert sign_in("another-password-2").status_code == 302
    change_password(client, "wrong")
    assert TOLD in change_password(client, "another-password-2").text


@pytest.mark.slow
def test_an_address_runs_out_of_attempts_even_with_different_names(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = []
    pbkdf2 = hashers.pbkdf2
    monkeypatch.setattr(hashers, "pbkdf2", lambda *a, **k: hashed.append(1) or pbkdf2(*a, **k))
    limit = FAILURES_OF_ADDRESS[0]
    for number in range(limit + 10):
        page = sign_in("wrong", name=f"new{number}@example.com", address="2001:db8::1")
        assert (TOLD in page.content.decode()) is (number >= limit)
    assert len(hashed) == limit
    told = sign_in("right-password-1", address="2001:db8::2")  # the same /64 network
    assert TOLD in told.content.decode()
    assert sign_in("right-password-1", address="2001:db8:0:1::2").status_code == 302


@pytest.mark.parametrize("name", ["adm\u0131n@example.com", "adm\u017fin@example.com"])
def test_a_letter_that_matches_only_in_upper_case_finds_no_person(db: None, name: str) -> None:
    UserFactory(email="admin@example.com")
    assert User.objects.find(name) is None
    with pytest.raises(User.DoesNotExist):
        User.objects.get_by_natural_key(name)


def test_a_spelling_that_the_database_treats_as_equal_counts_against_the_same_person(
    db: None,
) -> None:
    """If each spelling had its own limit, a name with several spellings would allow extra attempts.

    Which spellings are treated as equal depends on the database.
    """
    name = "ADM\u0130N@example.com"
    UserFactory(email="admin@example.com")
    if not User.objects.find(name):
        pytest.skip("this database distinguishes the spellings")
    for _ in range(5):
        sign_in("wrong", name=name)
    assert TOLD in sign_in("wrong", name="admin@example.com").content.decode()
