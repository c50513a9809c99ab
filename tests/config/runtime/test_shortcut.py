"""API requests with a small body, or none, do not go through the event loop."""

from pathlib import Path
from typing import Any

import granian._futures as futures
import pytest
import requests

from chatbots.models import Chatbot
from config.runtime.shortcut import before_event_loop
from tests.conftest import Api
from tests.servers.processes import Web

PATH = "/api/v1/chatbots"
REQUESTS = 200


def switches(process: Path) -> int:
    """Return how often a process's main thread, which runs the event loop, has gone to sleep."""
    status = (process / "task" / process.name / "status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("voluntary_ctxt_switches")]
    return int(line.split()[1])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("body", [None, {"description": "New"}], ids=["read", "write"])
def test_requests_do_not_wake_the_event_loop(
    api: Api, chatbot: Chatbot, body: dict[str, str] | None
) -> None:
    path = f"/api/v1/chatbots/account/{chatbot.account_id}/chatbot/{chatbot.pk}" if body else PATH
    method = "PATCH" if body else "GET"
    with Web(WEB_WORKERS="1", RATE_LIMIT_IP="off", RATE_LIMIT_USER="off") as web:
        process = max(web.alive(), key=lambda entry: int(entry.name))  # the most recently started
        with requests.Session() as session:
            session.headers["Authorization"] = f"Bearer {api.key}"
            before = switches(process)
            for _ in range(REQUESTS):
                assert session.request(method, f"{web.address}{path}", json=body).ok
            woken = switches(process) - before
        assert woken < REQUESTS / 2, woken


class Failed:
    """Stands in for granian's watcher of one request, and keeps the error that it is given."""

    error: BaseException | None = None

    def err(self, error: BaseException) -> None:
        self.error = error


@pytest.mark.parametrize("part", ["take", "pass on"])
def test_no_error_escapes_to_granian(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    def fail(watcher: Failed) -> bool:
        raise MemoryError

    passes_on = fail if part == "pass on" else lambda watcher: None
    monkeypatch.setattr(futures, "_cbsched_aioschedule", lambda *_: passes_on)
    before_event_loop(fail if part == "take" else lambda watcher: False)
    watcher = Failed()
    schedule: Any = futures._cbsched_aioschedule
    schedule(None, None, None)(watcher)
    assert isinstance(watcher.error, MemoryError)
