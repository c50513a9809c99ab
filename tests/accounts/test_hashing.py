"""Passwords are hashed a few at a time, and nothing is held meanwhile."""

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
    """Stands in for the arithmetic: waits until it may end, and notes what it sees."""

    def __init__(self) -> None:
        self.lock, self.let = threading.Lock(), threading.Event()
        self.now = self.most = 0
        self.connected: list[bool] = []

    def __call__(self, *_: Any, **__: Any) -> bytes:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.connected.append(connection.connection is not None)
        assert self.let.wait(PATIENCE)
        with self.lock:
            self.now -= 1
        return b"digest"


def sign_in_as(number: int) -> str:
    """Try an unknown name from an address of its own."""
    try:
        client = Client(REMOTE_ADDR=f"192.0.2.{number}")
        given = {"username": f"no{number}@example.com", "password": "wrong"}
        return client.post(LOGIN, given).content.decode()
    finally:
        connections.close_all()


def test_many_sign_ins_at_once_hash_a_few_and_hold_no_connection(monkeypatch: Any) -> None:
    hashes = Hashes()
    monkeypatch.setattr(hashers, "pbkdf2", hashes)
    with ThreadPoolExecutor(MANY) as threads:
        begun = [threads.submit(sign_in_as, number) for number in range(MANY)]
        # Those beyond the places are answered while no hash has ended
        wait_until(lambda: sum(each.done() for each in begun) == MANY - sign_in.MOST_WAITING)
        told = [each.result() for each in begun if each.done()]
        hashes.let.set()
        heard = [each.result() for each in begun]
    assert all("Too many people are signing in" in page for page in told)
    assert sum("Please enter the correct" in page for page in heard) == sign_in.MOST_WAITING
    assert hashes.most == hashing.AT_ONCE
    assert not any(hashes.connected)


def test_a_password_set_before_is_still_right() -> None:
    user = UserFactory()
    user.password = hashers.PBKDF2PasswordHasher().encode("right-password-1", "salt", 1000)
    user.save()
    assert user.check_password("right-password-1")
    assert not user.check_password("wrong")
