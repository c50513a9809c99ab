"""Check messages, events, deliveries and attempts against each other."""

import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.runtime.commands import RecordCommand, Records, progress
from conversations import ledger
from conversations.ledger import GRACE, Gaps


def seconds(text: str) -> timedelta:
    """Parse a number of seconds from 0 to 86400. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) > 86_400:
        raise ArgumentTypeError(f"{text!r} is not a number from 0 to 86400")
    return timedelta(seconds=int(text))


class Command(RecordCommand):
    """Runs `verify_ledger [--grace SECONDS]`."""

    help = (
        "Check messages, events, deliveries and attempts against each other. Prints the number of "
        "gaps of each kind and some of their ids. Exits with status 1 if there is a gap."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--grace",
            type=seconds,
            default=GRACE,
            metavar="SECONDS",
            help="skip messages stored in the last SECONDS seconds, or in the SECONDS seconds after"
            " a configuration change (default: 300)",
        )

    def run(self, *, grace: timedelta, **_: Any) -> Records:
        """Check all tables, with a progress bar. Yields the gap counts, in total and by kind."""
        self.found: dict[str, Gaps] = {}
        try:
            for _span in progress(
                ledger.check(self.found, grace=grace), total=ledger.spans(), unit="spans"
            ):
                pass
        except KeyboardInterrupt:
            raise CommandError("stopped; the remaining rows were not checked") from None
        yield {
            "gaps": sum(gaps.count for gaps in self.found.values()),
            "kinds": {
                name: {"count": gaps.count, "ids": gaps.ids} for name, gaps in self.found.items()
            },
        }

    def handle(self, *words: str, **options: Any) -> None:
        """Check all tables. Exits with status 1 if there is a gap."""
        super().handle(*words, **options)
        if any(gaps.count for gaps in self.found.values()):
            sys.exit(1)

    def show(self, record: Mapping[str, Any], *, as_json: bool) -> None:
        """Print the record as JSON, or print one line for each kind of gap that was found."""
        if as_json:
            super().show(record, as_json=True)
            return
        broken = [gaps for gaps in self.found.values() if gaps.count]
        for gaps in broken:
            ids = ", ".join(map(str, gaps.ids))
            more = ", ..." if gaps.count > len(gaps.ids) else ""
            name, sentence = gaps.rule.name, gaps.rule.sentence
            self.write(f"{name}: {gaps.count} ({sentence}): {ids}{more}\n")
        if not broken:
            self.write("no gaps\n")
