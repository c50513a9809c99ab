"""Concurrent calls share one write, but an invalid item does not make other items fail."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DataError

from tests.patience import PATIENCE
from webhooks.engine.batch import Batch


def test_items_that_arrive_during_a_write_are_written_together() -> None:
    sizes, first, go = [], threading.Event(), threading.Event()

    def write(items: list[int]) -> list[int]:
        sizes.append(len(items))
        first.set()
        go.wait(PATIENCE)
        return [item * 2 for item in items]

    batch = Batch(write, patience=0.01)
    with ThreadPoolExecutor(10) as threads:
        begun = [threads.submit(batch, 0)]
        assert first.wait(PATIENCE)
        begun += [threads.submit(batch, number) for number in range(1, 10)]
        while batch.waiting.qsize() < 9:
            pass
        go.set()
        assert [one.result(PATIENCE) for one in begun] == [number * 2 for number in range(10)]
    assert sizes == [1, 9]


def test_an_item_that_cannot_be_written_fails_without_the_others() -> None:
    first, go = threading.Event(), threading.Event()

    def write(items: list[str]) -> list[str]:
        first.set()
        go.wait(PATIENCE)
        if "bad" in items:
            raise DataError("too long")
        return [item.upper() for item in items]

    batch = Batch(write, patience=0.01)
    with ThreadPoolExecutor(4) as threads:
        begun = {name: threads.submit(batch, name) for name in ("a",)}
        assert first.wait(PATIENCE)
        begun |= {name: threads.submit(batch, name) for name in ("b", "bad", "c")}
        while batch.waiting.qsize() < 3:
            pass
        go.set()
        assert [begun[name].result(PATIENCE) for name in "abc"] == ["A", "B", "C"]
        with pytest.raises(DataError):
            begun["bad"].result(PATIENCE)
