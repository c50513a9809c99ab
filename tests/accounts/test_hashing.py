"""Only a few passwords are hashed at a time, and a waiting sign-in holds no pooled connection."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth import hashers
from django.db import connection, connections
from django.test import Client
from django.urls import reverse

from accounts import hashing, sign_in
from tests.factories.accounts import UserFactory
from tests.patience import PATIENCE
from tests.servers.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
LOGIN = reverse("admin:login")
MANY = 20


class Hashes:
    """Replaces the hash function. Blocks until released, and counts concurrent calls."""

    def __init__(self) -> None:
        self.lock, self.let = threading.Lock(), threading.Event()
        self.now = self.most = 0
        self.connected: list[bool] = []

    def __call__(self, *_: Any, **__: Any) -> bytes:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            # SQLite has no pool, so a thread keeps its connection while it waits.
            self.connected.append(
                connection.vendor != "sqlite" and connection.connection is not None
            )
        assert self.let.wait(PATIENCE)
        with self.lock:
            self.now -= 1
        return b"digest"


def sign_in_as(number: int) -> str:
    """Try to sign in with an unknown name, from a separate IP address. Returns the page."""
    try:
        client = Client(REMOTE_ADDR=f"192.0.2.{number}")
        given = {"username": f"no{number}@example.com", "password": "wrong"}
        return client.post(LOGIN, given).content.decode()
    finally:
        connections.close_all()


def test_concurrent_sign_ins_hash_few_passwords_at_a_time_and_hold_no_pooled_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashes = Hashes()
    monkeypatch.setattr(hashers, "pbkdf2", hashes)
    with ThreadPoolExecutor(MANY) as threads:
        begun = [threads.submit(sign_in_as, number) for number in range(MANY)]
        # Requests beyond the limit are answered before any hash is finished
        wait_until(lambda: sum(each.done() for each in begun) == MANY - sign_in.MOST_WAITING)
        told = [each.result() for each in begun if each.done()]
        hashes.let.set()
        heard = [each.result() for each in begun]
    assert all("Too many people are signing in" in page for page in told)
    assert sum("Wrong email or password." in page for page in heard) == sign_in.MOST_WAITING
    assert hashes.most == hashing.AT_ONCE
    assert not any(hashes.connected)


def test_a_password_hashed_by_djangos_own_hasher_still_works() -> None:
    user = UserFactory()
    user.password = hashers.PBKDF2PasswordHasher().encode("right-password-1", "salt", 1000)
    user.save()
    assert user.check_password("right-password-1")
    assert not user.check_password("wrong")
