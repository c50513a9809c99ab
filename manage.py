#!/usr/bin/env python
"""Django's command line for this project."""

import os
import signal
import sys


def main() -> None:
    """Run the management command given in the arguments. SIGTERM stops it, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import CommandError, execute_from_command_line
        from django.db import DatabaseError
    except ImportError as error:
        raise SystemExit(
            "Django is not installed for this Python: run `make run`, or use .venv/bin/python"
        ) from error
    try:
        execute_from_command_line(sys.argv)
    except DatabaseError as error:
        from config.database.availability import outage_in_words
        from config.database.upgrades import check_nothing_missing

        if outage := outage_in_words(error):
            raise SystemExit(f"CommandError: {outage}") from None
        if "migrate" not in sys.argv:
            try:
                check_nothing_missing()
            except CommandError as missing:
                raise SystemExit(f"CommandError: {missing}") from None
        raise


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("Stopped.") from None
