"""Concurrent calls share one write, but an invalid item does not make other items fail."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DataError

from tests.patience import PATIENCE
from webhooks.engine.batch import Batch


def test_items_share_a_write_and_one_that_cannot_be_written_fails_alone() -> None:
    sizes, first, go = [], threading.Event(), threading.Event()

    def write(items: list[str]) -> list[str]:
        sizes.append(len(items))
        first.set()
        go.wait(PATIENCE)
        if "bad" in items:
            raise DataError("too long")
        return [item.upper() for item in items]

    batch = Batch(write, patience=0.01)
    with ThreadPoolExecutor(10) as threads:
        begun = {"a": threads.submit(batch, "a")}
        assert first.wait(PATIENCE)
        begun |= {name: threads.submit(batch, name) for name in ("b", "c", "bad")}
        while batch.waiting.qsize() < 3:
            pass
        go.set()
        assert [begun[name].result(PATIENCE) for name in "abc"] == ["A", "B", "C"]
        with pytest.raises(DataError):
            begun["bad"].result(PATIENCE)
    assert sizes == [1, 3, 1, 1, 1], "the three together, and then each of them"
