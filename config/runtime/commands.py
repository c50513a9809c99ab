"""The base class of most management commands: `--json`, a progress bar and clear errors."""

import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Mapping
from getpass import getpass
from typing import Any, TypeVar
from uuid import UUID

from django.core.checks import Tags
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import DatabaseError
from django.db.models import QuerySet
from tqdm import tqdm

from config.api.body import dumps
from config.database import upgrades
from config.runtime.context import Context, acting

Item = TypeVar("Item")
STANDARD_INPUT = "-"
# The other checks examine the code, which is the same on every machine, and load all pages and
# routes. `manage.py check` runs those checks.
CHECKS = [Tags.caches]


def email(text: str) -> str:
    """Check an email address. Raises ArgumentTypeError."""
    try:
        validate_email(text)
    except ValidationError:
        raise ArgumentTypeError(f"{text!r} is not an email address") from None
    return text


def identifier(text: str) -> UUID:
    """Parse a uuid. Raises ArgumentTypeError."""
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not an id (a uuid)") from None


def positive(text: str) -> int:
    """Parse an integer from 1 to 100,000. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) == 0 or int(text) > 100_000:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to 100000")
    return int(text)


def secret_given(text: str | None) -> str | None:
    """Return the secret, or read it from standard input if `text` is "-".

    At a terminal, prompts for the secret without echoing it. Raises CommandError if the input is
    empty.
    """
    if text != STANDARD_INPUT:
        return text
    try:
        at_terminal = sys.stdin.isatty()
        read = getpass("Secret: ") if at_terminal else sys.stdin.readline().rstrip("\r\n")
    except (EOFError, KeyboardInterrupt):
        read = ""
    if not read:
        raise CommandError("standard input is empty")
    return read


def find(rows: "QuerySet[Any]", **lookup: Any) -> Any:
    """Find the row that an argument identifies. Raises CommandError if there is none."""
    found = rows.filter(**lookup).first()
    if found is None:
        [value] = lookup.values()
        raise CommandError(f"no {rows.model._meta.verbose_name} {value}")
    return found


def in_words(value: Any) -> str:  # Any: a value of a record
    """Format a record's value for display."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(in_words, value))
    return str(value)


def progress(items: Iterable[Item], *, total: int, unit: str) -> Iterable[Item]:
    """Show a progress bar on standard error while iterating over items."""
    return tqdm(items, total=total, unit=f" {unit}", file=sys.stderr, disable=None)


class RecordCommand(BaseCommand):
    """A command that calls a service and prints the record or the records that `run` returns.

    A subclass implements `run`, and `arguments` if the command takes any. Without `--json`, each
    record is printed as lines. With `--json`, the only output is one JSON object, or an array if
    `run` yields records. If `run` fails, the records yielded so far are still printed.
    """

    requires_system_checks = CHECKS

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command's own arguments, and `--json`."""
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the record as JSON")

    def arguments(self, parser: CommandParser) -> None:
        """Declare the command's own arguments. The default declares none."""

    # Any: each command declares the options that it accepts
    def run(self, *_: Any, **options: Any) -> Mapping[str, Any] | Iterable[dict[str, Any]]:
        """Do the work. Returns the record to print, or an iterable of records."""
        raise NotImplementedError

    def handle(self, *_: str, **options: Any) -> None:
        """Run the command and print its records.

        After a database error, raises CommandError naming the missing migrations, if there are any.
        """
        name = type(self).__module__.rpartition(".")[2]
        made: list[dict[str, Any]] = []
        try:
            with acting(Context(via=f"command {name}")):
                record = self.run(**options)
                if not isinstance(record, Mapping):
                    for one in record:
                        made.append(one)  # shown even if the next record fails
        except BaseException as error:
            if made:
                self.show(made, as_json=options["json"])
            if isinstance(error, DatabaseError):
                upgrades.check_nothing_missing()
            raise
        self.show(record if isinstance(record, Mapping) else made, as_json=options["json"])

    def show(self, record: Mapping[str, Any] | list[dict[str, Any]], *, as_json: bool) -> None:
        """Print one record, or a list of records, as JSON or as lines."""
        if as_json:
            self.stdout.write(dumps(record).decode())
            return
        for one in record if isinstance(record, list) else [record]:
            for name, value in one.items():
                self.stdout.write(f"{name}: {in_words(value)}")
