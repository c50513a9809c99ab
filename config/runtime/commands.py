"""The base class of most management commands: `--json`, a progress bar and clear errors."""

import sys
from argparse import ArgumentTypeError
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from typing import Any, TypeVar
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet
from tqdm import tqdm

from config.api.strict_json import dumps
from config.runtime.context import Context, acting
from config.runtime.logs import masked

Item = TypeVar("Item")
Records = Generator[dict[str, Any], None, None]  # Any: a record's values can have any type


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


def find(rows: "QuerySet[Any]", **lookup: Any) -> Any:
    """Find the row that an argument identifies.

    Raises CommandError if no row matches. If the argument is an API key, the message masks it.
    """
    found = rows.filter(**lookup).first()
    if found is None:
        [value] = lookup.values()
        raise CommandError(masked(f"no {rows.model._meta.verbose_name} {value}"))
    return found


def in_words(value: Any) -> str:  # Any: a record's values can have any type
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
    """A command that calls a service and prints the records that `run` yields.

    A subclass implements `run`, and also `arguments` if the command takes arguments. Without
    `--json`, each record is printed as lines. With `--json`, the only output is one JSON object.

    A record that contains a new secret cannot be shown later. `run` therefore yields it within the
    transaction that stores the secret, so that nothing is stored if the record cannot be printed.
    """

    requires_system_checks = ()  # they are slow: `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command's own arguments and `--json`."""
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the record as JSON")

    def arguments(self, parser: CommandParser) -> None:
        """Declare the command's own arguments. The default declares none."""

    # Any: each command declares the options that it accepts
    def run(self, *_: Any, **options: Any) -> Records:
        """Do the work, and yield the records to print."""
        raise NotImplementedError

    def handle(self, *_: str, **options: Any) -> None:
        """Run the command and print its records."""
        name = type(self).__module__.rpartition(".")[2]
        with acting(Context(via=f"command {name}")), closing(self.run(**options)) as records:
            self.show_all(records, as_json=options["json"])

    def show_all(self, records: Records, *, as_json: bool) -> None:
        """Print each record as `run` yields it."""
        for record in records:
            self.show(record, as_json=as_json)

    def show(self, record: Mapping[str, Any], *, as_json: bool) -> None:
        """Print a record as JSON or as lines."""
        if as_json:
            self.write(f"{dumps(record).decode()}\n")
            return
        lines = (f"{name}: {in_words(value)}\n" for name, value in record.items())
        self.write("".join(lines))

    def write(self, text: str) -> None:
        """Write to standard output and flush it. Raises CommandError if that fails."""
        try:
            self.stdout.write(text, ending="")
            self.stdout.flush()
        except OSError as error:
            raise CommandError(f"cannot write to standard output: {error.strerror}") from None
