"""The `verify_ledger [--grace SECONDS]` command."""

import io
import json

import pytest
from django.core.management import call_command

from chatbots.models import Chatbot
from conversations import ledger
from tests.commands import check_rejection, record, run
from tests.factories.conversations import MessageFactory

pytestmark = pytest.mark.django_db


def fails(*words: str) -> str:
    """Run the command, assert that its exit code is 1, and return its output."""
    output = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify_ledger", *words, stdout=output)
    assert ended.value.code == 1
    return output.getvalue()


def test_an_installation_without_gaps_passes(chatbot: Chatbot) -> None:
    assert run("verify_ledger") == "no gaps\n"
    report = record("verify_ledger")
    assert report["gaps"] == 0
    assert set(report["kinds"]) == {rule.name for rule in ledger.RULES}


def test_a_gap_is_counted_and_named(chatbot: Chatbot) -> None:
    thread = MessageFactory().thread  # the factory does not update the thread's counters
    assert fails() == (
        "thread_counts: 1 (a thread's positions or counters do not match its messages): "
        f"{thread.pk}\n"
    )
    report = json.loads(fails("--json"))
    assert report["gaps"] == 1
    assert report["kinds"]["thread_counts"] == {"count": 1, "ids": [str(thread.pk)]}


@pytest.mark.parametrize("grace", ["-1", "many", "86401"])
def test_an_invalid_grace_period_is_a_clear_error(grace: str) -> None:
    check_rejection("verify_ledger", f"--grace={grace}", message="not a number from 0")
