"""The thread that takes requests leaves those that it cannot answer itself to other threads."""

from pathlib import Path

import pytest

from tests.config.imported_settings import run

# Run in a separate process, because importing the web server changes the process's settings.
# The thread that takes requests has no connection to PostgreSQL here, as if it had just abandoned
# a read.
WITHOUT_CONNECTION = """
from contextlib import suppress

from config import rsgi
from config.database.inline import LONGEST, PAUSE


class WithoutConnection:
    def use_inline(self):
        raise rsgi.MustWait


rsgi.connection = WithoutConnection()
rsgi.inline.note(2 * LONGEST)
rsgi.inline.paused_until = 0.0
with suppress(rsgi.MustWait):
    rsgi.answer_inline(None, None, rsgi.Body(0))
print(rsgi.inline.pause == 2 * PAUSE)
"""


WITHOUT_THREADS = """
from config import rsgi
from tests.shortages import without_threads


class Request:
    method, path, headers = "GET", "/api/v1/chatbots", {}
    scope = proto = property(lambda self: self)
    err = staticmethod(print)


rsgi.inline.paused_until = float("inf")
with without_threads():
    print(rsgi.take(Request()))
print(rsgi.metrics.IN_PROGRESS.collect()[0].samples[0].value)
"""


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            WITHOUT_CONNECTION, ["True"], id="a lack of connections does not shorten the next pause"
        ),
        pytest.param(
            WITHOUT_THREADS,
            ["can't start new thread", "True", "0.0"],
            id="a lack of threads is an error",
        ),
    ],
)
def test_a_request_that_must_wait(tmp_path: Path, script: str, expected: list[str]) -> None:
    assert run(tmp_path, script).splitlines() == expected
