"""Run benchmarks: `python -m tests.tools.bench [MEASURE ...] [--size 0.1] [--json FILE]`.

Each benchmark has its own database. If TEST_DATABASE_URL and TEST_REDIS_URL are set, benchmarks run
on those servers, and any requested benchmarks in OF_SERVICE then run again on the embedded default
(SQLite without Redis). Otherwise, benchmarks run only on the embedded default.

`--beside FOLDER` compares this checkout with another: the measures run in both in turn, several
times, and the medians of the figures are printed side by side.
"""

# ruff: noqa: E402, I001, T201 - some imports must follow django.setup(); figures are printed

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tests.environment  # noqa: F401
import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings
from django.db import connection
from django.test.utils import setup_databases, teardown_databases

from tests.tools.bench import api, measures, replies, scale
from tests.tools.bench.beside import compare
from tests.tools.bench.servers import environment_without_servers
from tests.tools.bench.sink import Sink

MEASURES = measures.MEASURES | scale.MEASURES
OF_SERVICE: dict[str, Callable[[float], dict[str, Any]]] = {
    "api": api.measure,
    "replies": replies.replies,
    "sends": replies.sends,
}


def main() -> int:
    """Run benchmarks, print and optionally store their figures, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = [*MEASURES, *OF_SERVICE]
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(known))
    parser.add_argument("--size", type=float, default=1.0, help="fraction of the full size")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--beside", type=Path, help="another checkout, to compare with this one")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of a comparison")
    options = parser.parse_args()
    if unknown := set(options.measures) - set(known):
        parser.error(f"unknown measures: {', '.join(sorted(unknown))}")
    if options.beside:
        compare(options.beside, options.measures, size=options.size, rounds=options.rounds)
        return 0
    print(f"on {installation()}", flush=True)
    figures: dict[str, Any] = {}
    for name in options.measures or MEASURES:
        found = run(name, options.size)
        figures |= {name: found} if name in OF_SERVICE else found
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        told = {"installation": installation(), "figures": figures}
        options.json.write_text(json.dumps(told, indent=2) + "\n")
        return 0
    return on_embedded_default([name for name in options.measures if name in OF_SERVICE], options)


def run(name: str, size: float) -> dict[str, Any]:
    """Run one benchmark on a fresh database. Prints and returns its figures."""
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        if name in OF_SERVICE:
            print(f" {name}", flush=True)
            found = OF_SERVICE[name](size)
        else:
            with Sink() as sink:
                found = MEASURES[name](sink, size)
    finally:
        connection.close()
        teardown_databases(databases, verbosity=0)
    for key, value in found.items():
        if isinstance(value, (int, float)):
            print(f"  {key:36} {value:10.4g}", flush=True)
    return found


def on_embedded_default(names: list[str], options: argparse.Namespace) -> int:
    """If benchmarks ran on servers, repeat them on SQLite without Redis. Returns the exit code."""
    if settings.EMBEDDED or not names:
        return 0
    again = [sys.executable, "-m", "tests.tools.bench", *names, "--size", str(options.size)]
    return subprocess.run(again, env=environment_without_servers(), check=False).returncode


def installation() -> str:
    """Describe the measured installation: its databases, versions, cores and architecture."""
    base = "the embedded default" if settings.EMBEDDED else "PostgreSQL and Redis"
    versions = f"Python {platform.python_version()}, Django {django.get_version()}"
    return f"{base}: {versions}, {os.cpu_count()} cores, {platform.machine()}"


if __name__ == "__main__":
    sys.exit(main())
