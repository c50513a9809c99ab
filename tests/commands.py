"""Run management commands in this process, and check their output and errors."""

import io
import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command


def run(name: str, *words: UUID | str) -> str:
    """Run a command with these arguments. Returns its standard output."""
    output = io.StringIO()
    call_command(name, *words, stdout=output)
    return output.getvalue()


def record(name: str, *words: UUID | str) -> Any:
    """Run a command with --json. Returns the record, which must be the only line of output."""
    output = run(name, *words, "--json")
    assert output.count("\n") == 1
    return json.loads(output)


def check_rejection(name: str, *words: UUID | str, message: str) -> None:
    """Assert that a command rejects its input with this message and a non-zero exit code."""
    with pytest.raises(CommandError) as refusal:
        run(name, *words)
    assert message in str(refusal.value)
    assert refusal.value.returncode != 0
