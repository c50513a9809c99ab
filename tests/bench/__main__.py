"""Measure the delivery engine: `python -m tests.bench [MEASURE ...] [--size 0.1] [--json FILE]`.

It runs on its own database: on the servers that TEST_DATABASE_URL and TEST_REDIS_URL name, or on
the embedded default.
"""

# ruff: noqa: E402, I001, T201 - the environment is set before Django reads it; it prints

import argparse
import json
import os
import platform
import sys
from pathlib import Path

import tests.environment  # noqa: F401
import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings
from django.db import connection
from django.test.utils import setup_databases, teardown_databases

from tests.bench.measures import MEASURES, Figures
from tests.bench.sink import Sink


def main() -> int:
    """Run the measures, print their figures, and write them to a file if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(MEASURES))
    parser.add_argument("--size", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    if unknown := set(options.measures) - set(MEASURES):
        parser.error(f"no such measure: {', '.join(sorted(unknown))}")
    print(f"on {installation()}", flush=True)
    figures: Figures = {}
    for name in options.measures or MEASURES:
        databases = setup_databases(verbosity=0, interactive=False)
        try:
            with Sink() as sink:
                found = MEASURES[name](sink, options.size)
        finally:
            connection.close()
            teardown_databases(databases, verbosity=0)
        for key, value in found.items():
            print(f"  {key:36} {value:10.4g}", flush=True)
        figures |= found
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        told = {"installation": installation(), "figures": figures}
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    return 0


def installation() -> str:
    """Describe what was measured: databases, versions, cores."""
    base = "the embedded default" if settings.EMBEDDED else "PostgreSQL and Redis"
    versions = f"Python {platform.python_version()}, Django {django.get_version()}"
    return f"{base}: {versions}, {os.cpu_count()} cores, {platform.machine()}"


if __name__ == "__main__":
    sys.exit(main())
