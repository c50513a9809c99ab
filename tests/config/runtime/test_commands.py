"""A command that is interrupted with Ctrl-C keeps the work it has done, and reports how much."""

import contextlib
import os
import pty
import subprocess
import sys
import termios
from datetime import timedelta

import pytest
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.webhooks import DeliveryFactory
from tests.patience import PATIENCE
from tests.servers.processes import ROOT, Process
from webhooks.models import Delivery
from webhooks.services import retention, retry

# A script that sends itself SIGINT at the nth SQL statement that contains the given words. A signal
# from another process cannot be timed to arrive at a particular statement.
INTERRUPTED = """
import itertools, os, signal, sys
import django
django.setup()
from django.core.management import execute_from_command_line
from django.db import connection

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
words, nth, *command = sys.argv[1:]
passed = itertools.count(1)

def press(execute, sql, *args):
    if words in sql and next(passed) == int(nth):
        os.kill(os.getpid(), signal.SIGINT)
    return execute(sql, *args)

with connection.execute_wrapper(press):
    execute_from_command_line(["manage.py", *command])
"""


def run_on_terminal(*words: str) -> tuple[int, str]:
    """Run Python with a terminal as stderr, and return the exit code and the terminal's output."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 100))
    try:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env=Process().environment,
            stdout=subprocess.DEVNULL,
            stderr=slave,
            timeout=PATIENCE,
        )
    finally:
        os.close(slave)
    shown = b""
    with os.fdopen(master, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
        while piece := terminal.read(4096):  # Linux reports the closed terminal as an error
            shown += piece
    return done.returncode, shown.decode()


def made(chatbot: Chatbot, count: int) -> None:
    """Store this many old FAILED deliveries."""
    row = DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=None)
    fields = {"chatbot": chatbot, "account": row.account, "event": row.event, "body": b"{}"}
    Delivery.objects.bulk_create(
        Delivery(**fields, state="FAILED", due_at=None) for _ in range(count - 1)
    )
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=10))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("command", "batch", "statement", "nth", "words"),
    [
        pytest.param(
            ["retry_deliveries"],
            retry.BATCH,
            'UPDATE "webhooks_delivery"',
            retry.BATCH * 2 - 1,
            "stopped; 100 will be retried and the rest will not",
            id="retry",
        ),
        pytest.param(
            ["prune_deliveries", "--older-than", "5"],
            retention.BATCH,
            'ORDER BY "webhooks_delivery"."created_at"',
            2,
            "stopped; 1000 were deleted",
            id="prune",
        ),
    ],
)
def test_finished_work_is_kept_and_the_next_run_continues(
    chatbot: Chatbot, command: list[str], batch: int, statement: str, nth: int, words: str
) -> None:
    made(chatbot, batch * 2 + 1)
    left = Delivery.objects.filter(due_at=None)
    code, shown = run_on_terminal("-c", INTERRUPTED, statement, str(nth), *command)
    assert (code, left.count()) == (1, batch + 1), shown
    assert words in shown
    assert "1/3" in shown
    assert "Traceback" not in shown
    code, shown = run_on_terminal("manage.py", *command)
    assert (code, left.count()) == (0, 0), shown
    assert "2/2" in shown
