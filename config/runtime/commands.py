"""The base class of most management commands: `--json`, a progress bar and clear errors."""

import select
import signal
import sys
from argparse import ArgumentTypeError
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from getpass import getpass
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.core.checks import Tags
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from tqdm import tqdm

from config.api.body import dumps
from config.database import upgrades
from config.database.availability import outage_in_words
from config.database.lengths import SHORT
from config.runtime.context import Context, acting
from config.runtime.logs import masked

Item = TypeVar("Item")
Records = Generator[dict[str, Any], None, None]  # Any: a record's values can have any type
STANDARD_INPUT = "-"
# Only the cache checks run before a command. Most other system checks are slow, because they load
# all pages and routes, and are not needed here: they examine only the code, which is the same on
# every machine. `manage.py check` runs them.
CHECKS = [Tags.caches]
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # signals that ask a command to stop


def email(text: str) -> str:
    """Check an email address. Raises ArgumentTypeError."""
    try:
        validate_email(text)
    except ValidationError:
        raise ArgumentTypeError(f"{text!r} is not an email address") from None
    if len(text) > SHORT:
        raise ArgumentTypeError(f"an email address must have at most {SHORT} characters")
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
    """Return `text`, or a secret read from standard input if `text` is "-".

    At a terminal, prompts for the secret without echoing it. Raises CommandError if the input is
    empty.
    """
    if text != STANDARD_INPUT:
        return text
    try:
        at_terminal = sys.stdin.isatty()
        read = getpass("Secret: ") if at_terminal else sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise CommandError("standard input is not valid UTF-8") from None
    except (EOFError, KeyboardInterrupt):
        read = ""
    if not read:
        raise CommandError("standard input is empty")
    return read


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


@contextmanager
def deferring_stops() -> Iterator[list[int]]:
    """Collect the signals in STOPS instead of letting them interrupt the work in progress.

    A second signal raises KeyboardInterrupt immediately, because the work may be stuck. Signals
    that this process ignores, as under nohup, are still ignored.
    """
    arrived: list[int] = []

    def note(number: int, _: object) -> None:
        if arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    deferred = [number for number in STOPS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in deferred}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class RecordCommand(BaseCommand):
    """A command that calls a service and prints the records that `run` returns or yields.

    A subclass implements `run`, and also `arguments` if the command takes arguments. Without
    `--json`, each record is printed as lines. With `--json`, the only output is one JSON object, or
    an array if `prints_array` is true.

    If a record contains a new secret, which cannot be shown later, `run` yields the record inside a
    `printed_before_commit` block.
    """

    requires_system_checks = CHECKS
    prints_array: ClassVar[bool] = False
    stops: Sequence[int] = ()  # the signals that have asked the command to stop

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command's own arguments and `--json`."""
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the record as JSON")

    def arguments(self, parser: CommandParser) -> None:
        """Declare the command's own arguments. The default declares none."""

    # Any: each command declares the options that it accepts
    def run(self, *_: Any, **options: Any) -> Mapping[str, Any] | Records:
        """Do the work. Returns the record to print, or yields records."""
        raise NotImplementedError

    def handle(self, *_: str, **options: Any) -> None:
        """Run the command and print its records.

        Raises CommandError if the database does not respond or lacks migrations.
        """
        name = type(self).__module__.rpartition(".")[2]
        try:
            with acting(Context(via=f"command {name}")):
                made = self.run(**options)
                if isinstance(made, Mapping):
                    self.show(made, as_json=options["json"])
                    return
                with closing(made):
                    self.show_each(made, as_json=options["json"])
        except DatabaseError as error:
            if outage := outage_in_words(error):
                raise CommandError(outage) from None
            upgrades.check_nothing_missing()
            raise

    def show(self, record: Mapping[str, Any], *, as_json: bool) -> None:
        """Print a record as JSON or as lines."""
        if as_json:
            self.write(f"{dumps(record).decode()}\n")
            return
        lines = (f"{name}: {in_words(value)}\n" for name, value in record.items())
        self.write("".join(lines))

    def show_each(self, records: Records, *, as_json: bool) -> None:
        """Print each record as soon as `run` yields it.

        If `prints_array` is true, a signal in STOPS takes effect only after the current record.
        With `--json`, the output is therefore a valid array even if the command fails or is
        stopped.
        """
        if not self.prints_array:
            for record in records:
                self.show(record, as_json=as_json)
            return
        separator = ""
        with deferring_stops() as self.stops:
            if as_json:
                self.write("[")
            try:
                for record in records:
                    if as_json:
                        self.write(separator + dumps(record).decode())
                        separator = ","
                    else:
                        self.show(record, as_json=False)
            finally:
                if as_json:
                    self.write("]\n")

    @contextmanager
    def printed_before_commit(self) -> Iterator[None]:
        """Open the transaction in which `run` stores a new secret and yields its record.

        The transaction is committed once the record is printed, and rolled back if printing fails.
        The transaction begins only when the output can be written to, so that it holds no locks
        while the reader of a pipe pauses.
        """
        with suppress(OSError, ValueError):  # the output has no usable file descriptor
            select.select([], [self.stdout], [])
        with transaction.atomic():
            yield
        if self.stops:
            raise KeyboardInterrupt

    def write(self, text: str) -> None:
        """Write to standard output and flush it."""
        self.stdout.write(text, ending="")
        self.stdout.flush()
