"""Leases are renewed while their work runs, even after errors."""

import threading
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, InterfaceError

from config.database.renewal import Renewal
from tests.patience import PATIENCE
from tests.shortages import without_threads


def test_leases_are_renewed_after_a_failure_to_start_a_thread() -> None:
    renewed = threading.Event()
    renewal = Renewal(lambda claims: renewed.set(), every=0.01)
    with without_threads(), pytest.raises(RuntimeError), renewal.of(uuid4()):
        pass
    assert not renewal.claims
    with renewal.of(uuid4()):
        assert renewed.wait(PATIENCE)


@pytest.mark.parametrize("error", [DatabaseError("gone"), InterfaceError("gone"), OSError("gone")])
def test_leases_are_renewed_after_an_error(error: Exception) -> None:
    errors: Iterator[Exception] = iter([error])
    renewed = threading.Event()

    def renew(claims: list[UUID]) -> None:
        for one in errors:
            raise one
        renewed.set()

    with Renewal(renew, every=0.01).of(uuid4()):
        assert renewed.wait(PATIENCE)
