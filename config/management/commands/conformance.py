"""Write docs/conformance.md, or say why it cannot be."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import conformance


class Command(BaseCommand):
    """`conformance [--check]`."""

    help = "Write docs/conformance.md: each rule of the specification with the tests that prove it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare what the command takes."""
        parser.add_argument(
            "--check",
            action="store_true",
            help="write nothing; fail where a rule lacks its test or the page is out of date",
        )

    def handle(self, *_: str, check: bool, **options: Any) -> None:
        """Write the page, or compare it. Raises CommandError."""
        docs = settings.BASE_DIR / "docs"
        headings = conformance.read_index(docs / "specification-index.toml")
        ledger = conformance.read_ledger(docs / "open-points.md")
        proofs = list(conformance.collect(settings.BASE_DIR / "tests"))
        if found := list(conformance.faults(headings, ledger, proofs)):
            raise CommandError("\n".join(["tests and rules do not fit together:", *found]))
        path, page = docs / "conformance.md", conformance.page(headings, ledger, proofs)
        if not check:
            path.write_text(page)
        elif not path.is_file() or path.read_text() != page:
            raise CommandError("docs/conformance.md is out of date: make conformance")
