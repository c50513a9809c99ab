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
TOLD = "Too many attempts. Try again in"
ANN, RIGHT, NEW = "ann@example.com", "right-password-1", "another-password-2"


@pytest.fixture(autouse=True)
def still_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Freeze the clock, so that failures do not expire during a test."""
    counters.forget()
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    monkeypatch.setattr(PasswordHasher, "iterations", 1)
    yield


@pytest.fixture
def person(db: None) -> User:
    user = UserFactory(email=ANN, is_superuser=True)
    user.set_password(RIGHT)
    user.save()
    return user


def sign_in(password: str, name: str = ANN, address: str = "192.0.2.1") -> str:
    """Return how the sign-in ended: signed in, wrong or refused."""
    return outcome(
        Client(REMOTE_ADDR=address).post(LOGIN, {"username": name, "password": password})
    )


def change_password(client: Client, old: str, address: str = "192.0.2.1") -> str:
    """Return how the change of the password ended."""
    new = {"new_password1": NEW, "new_password2": NEW}
    return outcome(client.post(CHANGE, {"old_password": old, **new}, REMOTE_ADDR=address))


def outcome(answer: Any) -> str:
    if answer.status_code == 302:
        return "done"
    assert answer.status_code == 200
    wrong = "Wrong email or password." in answer.text or "entered incorrectly" in answer.text
    assert wrong is not (TOLD in answer.text)
    return "wrong" if wrong else "refused"


@pytest.mark.parametrize(
    ("passwords", "outcomes"),
    [
        pytest.param("wwwwwwr", "wrong " * 5 + "refused refused", id="even the right password"),
        pytest.param("wwwwrrrww", "wrong " * 4 + "done " * 3 + "wrong refused", id="successes"),
    ],
)
def test_five_failures_are_allowed(person: User, passwords: str, outcomes: str) -> None:
    given = {"w": "wrong", "r": RIGHT}
    assert [sign_in(given[each]) for each in passwords] == outcomes.split()


@pytest.mark.parametrize(
    ("name", "address", "expected"),
    [
        pytest.param("bob@example.com", "192.0.2.1", "wrong", id="another name"),
        pytest.param(ANN, "192.0.2.2", "wrong", id="another address"),
        ("ANN@example.com", "192.0.2.1", "refused"),
        (" ann@example.com ", "192.0.2.1", "refused"),
        ("\uff41nn@example.com", "192.0.2.1", "refused"),
        ("ANn@Example.com", "192.0.2.1", "refused"),
    ],
)
def test_failures_count_for_a_person_at_an_address_in_all_spellings(
    person: User, name: str, address: str, expected: str
) -> None:
    for _ in range(5):
        sign_in("wrong")
    assert sign_in("wrong", name=name, address=address) == expected


def test_an_open_session_cannot_guess_the_password_without_limit(person: User) -> None:
    client = signed_in(person)
    guesses = [change_password(client, "wrong", address=f"192.0.2.{n}") for n in range(6)]
    assert guesses == ["wrong"] * 5 + ["refused"]
    assert change_password(client, RIGHT, address="192.0.2.9") == "refused"
    assert sign_in(RIGHT) == "done"


def test_the_right_old_password_is_not_counted_and_changes_the_password(person: User) -> None:
    client = signed_in(person)
    assert [change_password(client, "wrong") for _ in range(4)] == ["wrong"] * 4
    assert change_password(client, RIGHT) == "done"
    assert sign_in(NEW) == "done"
    assert [change_password(client, old) for old in ("wrong", NEW)] == ["wrong", "refused"]


@pytest.mark.slow
def test_an_address_runs_out_of_attempts_even_with_different_names(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = []
    pbkdf2 = hashers.pbkdf2
    monkeypatch.setattr(hashers, "pbkdf2", lambda *a, **k: hashed.append(1) or pbkdf2(*a, **k))
    limit = FAILURES_OF_ADDRESS[0]
    names = [f"new{number}@example.com" for number in range(limit + 10)]
    outcomes = [sign_in("wrong", name=name, address="2001:db8::1") for name in names]
    assert outcomes == ["wrong"] * limit + ["refused"] * 10
    assert len(hashed) == limit
    assert sign_in(RIGHT, address="2001:db8::2") == "refused"  # the same /64 network
    assert sign_in(RIGHT, address="2001:db8:0:1::2") == "done"


def test_a_spelling_that_the_database_treats_as_equal_counts_against_the_same_person(
    db: None,
) -> None:
    """Which spellings are treated as equal depends on the database."""
    name = "ADM\u0130N@example.com"
    UserFactory(email="admin@example.com")
    if not User.objects.find(name):
        pytest.skip("this database distinguishes the spellings")
    assert [sign_in("wrong", name=name) for _ in range(5)] == ["wrong"] * 5
    assert sign_in("wrong", name="admin@example.com") == "refused"
