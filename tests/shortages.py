"""Simulate a machine that lacks resources."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest


@contextmanager
def without_threads() -> Iterator[None]:
    """Raise RuntimeError whenever a thread is started within the block."""

    def start(self: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        yield
