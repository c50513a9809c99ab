#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    """Run the management command given in the arguments."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            "Django is not installed in this Python: run `make run`, or use .venv/bin/python"
        ) from error
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
