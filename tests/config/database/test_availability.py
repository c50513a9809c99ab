"""If a command cannot use the database, it prints the reason on one line."""

import os
import sqlite3
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.db import DatabaseError, OperationalError

from config.database.availability import outage_in_words
from tests.patience import PATIENCE
from tests.servers.forks import run_to_end
from tests.servers.processes import free_port

COMMANDS = [
    *(["migrate"], ["issue_api_key", "owner@acme.example"], ["verify_ledger"]),
    *(["serve"], ["serve", "web"], ["serve", "worker"]),
]


def error_of(folder: Path, *words: str, **environment: str) -> str:
    """Run a command that must fail, and return the last line of its output."""
    plain = {"PATH": os.environ["PATH"], "STATE_DIR": str(folder), "PORT": str(free_port())}
    done = run_to_end("manage.py", *words, environment=plain | environment, timeout=PATIENCE)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "canary" not in done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_says_why_postgresql_does_not_respond(tmp_path: Path, words: list[str]) -> None:
    port = free_port()
    line = error_of(
        tmp_path,
        *words,
        DATABASE_URL=f"postgresql://user:canary@127.0.0.1:{port}/none",
        REDIS_URL="redis://127.0.0.1:1",
        SECRET_KEY="canary",
        ENCRYPTION_KEYS=Fernet.generate_key().decode(),
    )
    assert line.startswith("CommandError: the database does not respond: connection failed: ")
    assert f"port {port} failed: Connection refused" in line


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_says_that_the_file_is_damaged(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "database.sqlite3").write_bytes(b"canary" * 1000)
    said = error_of(tmp_path, *words)
    assert said == "CommandError: the database does not respond: file is not a database"


def caused_by(cause: BaseException, code: int) -> DatabaseError:
    error = OperationalError(str(cause))
    error.__cause__ = cause
    cause.sqlite_errorcode = code  # type: ignore[attr-defined]
    return error


def test_only_an_unusable_file_counts_as_an_outage() -> None:
    full = caused_by(sqlite3.OperationalError("disk I/O error"), sqlite3.SQLITE_IOERR_WRITE)
    assert outage_in_words(full) == "the database does not respond: disk I/O error"
    locked = OperationalError("database is locked")
    assert outage_in_words(locked) == "the database does not respond: database is locked"
    missing = caused_by(sqlite3.OperationalError("no such table: a"), sqlite3.SQLITE_ERROR)
    assert outage_in_words(missing) == ""
