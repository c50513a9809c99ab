"""A command that is interrupted with Ctrl-C keeps the work it has done, and reports how much."""

import contextlib
import errno
import io
import json
import os
import pty
import subprocess
import sys
import termios
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import ApiKey, User
from accounts.services import api_key
from chatbots.models import Chatbot
from tests.factories.accounts import UserFactory
from tests.factories.webhooks import DeliveryFactory
from tests.patience import PATIENCE
from tests.servers.processes import ROOT, Process
from webhooks.models import Delivery, Endpoint
from webhooks.services import retention, retry

# A script that runs manage.py and sends itself a signal at the nth SQL statement that contains the
# given words. A signal from another process cannot be timed to arrive at a particular statement.
INTERRUPTED = """
import itertools, os, runpy, signal, sys
import django
django.setup()
from django.db import connection

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup
number, words, nth, *command = sys.argv[1:]
passed = itertools.count(1)

def press(execute, sql, *args):
    if words in sql and next(passed) == int(nth):
        os.kill(os.getpid(), signal.Signals[number])
    return execute(sql, *args)

sys.argv = ["manage.py", *command]
with connection.execute_wrapper(press):
    runpy.run_path("manage.py", run_name="__main__")
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
            "stopped; 100 will be retried, but the remaining deliveries will not",
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
    code, shown = run_on_terminal("-c", INTERRUPTED, "SIGINT", statement, str(nth), *command)
    assert (code, left.count()) == (1, batch + 1), shown
    assert words in shown
    assert "1/3" in shown
    assert "Traceback" not in shown
    code, shown = run_on_terminal("manage.py", *command)
    assert (code, left.count()) == (0, 0), shown
    assert "2/2" in shown


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_each_new_key_is_printed_before_a_signal_stops_the_command(number: str) -> None:
    for _ in range(3):
        api_key.issue(UserFactory())
    old = set(ApiKey.objects.values_list("prefix", flat=True))
    words = ("rotate_api_keys", "--all", "--json")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, number, 'INSERT INTO "accounts_apikey"', "2", *words],
        cwd=ROOT,
        env=Process().environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    shown = {record["prefix"] for record in json.loads(done.stdout)}
    made = set(ApiKey.objects.values_list("prefix", flat=True)) - old
    assert (shown, len(made)) == (made, 1)


class Filling(io.StringIO):
    """An output whose nth write fails, as happens to a file when the disk becomes full."""

    def __init__(self, nth: int) -> None:
        super().__init__()
        self.left = nth - 1

    def write(self, text: str) -> int:
        if not self.left:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.left -= 1
        return super().write(text)


@pytest.fixture
def keys_of_three() -> set[str]:
    """The prefixes of three people's API keys."""
    return {api_key.issue(UserFactory())[0].prefix for _ in range(3)}


@pytest.mark.django_db
@pytest.mark.parametrize(("words", "nth"), [([], 2), (["--json"], 2)], ids=["lines", "json"])
def test_a_key_that_cannot_be_printed_is_not_replaced(
    keys_of_three: set[str], words: list[str], nth: int
) -> None:
    output = Filling(nth)
    with pytest.raises(CommandError, match="output: No space left"):
        call_command("rotate_api_keys", "--all", *words, stdout=output)
    working = {key.prefix for key in ApiKey.objects.alive()}
    assert len(working & keys_of_three) == 2
    [new] = working - keys_of_three
    assert new in output.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "words",
    [
        ["issue_api_key", "{chatbot.account.owner.email}"],
        ["configure_webhook", "{chatbot.pk}", "--url", "https://hooks.example.com/"],
        ["seed_demo"],
    ],
)
def test_a_secret_that_cannot_be_printed_is_not_stored(chatbot: Chatbot, words: list[str]) -> None:
    people = User.objects.count()
    with pytest.raises(CommandError, match="output: No space left"):
        call_command(*(word.format(chatbot=chatbot) for word in words), stdout=Filling(1))
    assert not ApiKey.objects.exists()
    assert not Endpoint.objects.exists()
    assert User.objects.count() == people
