"""`verify_ledger [--grace SECONDS]`."""

import io
import json

import pytest
from django.core.management import call_command

from conversations import ledger
from tests.commands import check_help, check_rejection, record, run
from tests.factories.conversations import MessageFactory

pytestmark = pytest.mark.django_db


def fails(*words):
    """Run the command, which must exit with 1; returns its output."""
    said = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify_ledger", *words, stdout=said)
    assert ended.value.code == 1
    return said.getvalue()


def test_the_help_names_the_grace(capsys):
    check_help("verify_ledger", capsys, "--grace SECONDS")


def test_an_installation_without_gaps_passes(chatbot):
    assert run("verify_ledger") == "no gaps\n"
    told = record("verify_ledger")
    assert told["gaps"] == 0
    assert set(told["kinds"]) == {rule.name for rule in ledger.RULES}


def test_a_gap_is_counted_and_named(chatbot):
    thread = MessageFactory().thread  # which does not count it as the visitor's
    assert fails() == (
        "thread_counts: 1 (a thread's positions or counters are not those of its messages): "
        f"{thread.pk}\n"
    )
    told = json.loads(fails("--json"))
    assert told["gaps"] == 1
    assert told["kinds"]["thread_counts"] == {"count": 1, "ids": [str(thread.pk)]}


def test_only_the_first_ids_are_shown(chatbot):
    MessageFactory.create_batch(6)
    assert fails().endswith(", ...\n")
    assert len(json.loads(fails("--json"))["kinds"]["thread_counts"]["ids"]) == ledger.SHOWN


@pytest.mark.parametrize("grace", ["-1", "many", "86401"])
def test_an_invalid_grace_is_a_clear_error(grace):
    check_rejection("verify_ledger", f"--grace={grace}", message="not a number from 0")
