"""Run benchmarks: `python -m tests.tools.bench [MEASURE ...] [--size 0.1] [--json FILE] [--keep]`.

Each benchmark has its own database. If TEST_DATABASE_URL and TEST_REDIS_URL are set, benchmarks run
on those servers, and any requested benchmarks in OF_SERVICE then run again on the embedded default
(SQLite without Redis). Otherwise, benchmarks run only on the embedded default. If any figures miss
their targets, the exit status is 1, and the last lines of the output list these figures.
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

from tests.tools.bench import (
    api,
    asked,
    exports,
    growth,
    ledger,
    lists,
    measures,
    replies,
    report,
    scale,
    search,
)
from tests.tools.bench.servers import environment_without_servers
from tests.tools.bench.sink import Sink

MEASURES = measures.MEASURES | scale.MEASURES
OF_SERVICE: dict[str, Callable[[float], dict[str, Any]]] = {
    "api": api.measure,
    "replies": replies.replies,
    "sends": replies.sends,
    "growth": growth.measure,
    "ledger": ledger.measure,
    "lists": lists.measure,
    "exports": exports.measure,
    "search": search.measure,
}


def main() -> int:
    """Run benchmarks, print and optionally store their figures, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = [*MEASURES, *OF_SERVICE, "report"]
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(known))
    parser.add_argument("--size", type=float, default=1.0, help="fraction of the full size")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument(
        "--keep", action="store_true", help="store the figures in docs/benchmarks.json"
    )
    options = parser.parse_args()
    if unknown := set(options.measures) - set(known):
        parser.error(f"unknown measures: {', '.join(sorted(unknown))}")
    print(f"on {installation()}", flush=True)
    figures: dict[str, Any] = {}
    missed: list[str] = []
    for name in options.measures or MEASURES:
        if name == "report":
            continue
        found = run(name, options.size)
        if options.keep and name in OF_SERVICE | scale.MEASURES:
            into = "scale" if name in scale.MEASURES else ""
            report.keep(name, found, size=options.size, setup=installation(), into=into)
        missed += asked.missed(name, found)
        figures |= {name: found} if name in OF_SERVICE else found
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        told = {"installation": installation(), "figures": figures}
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    ended = on_embedded_default([name for name in options.measures if name in OF_SERVICE], options)
    if options.keep or "report" in options.measures:
        report.write()
    for line in missed:
        print(line, flush=True)
    return ended or bool(missed)


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
    again += ["--keep"] if options.keep else []
    return subprocess.run(again, env=environment_without_servers(), check=False).returncode


def installation() -> str:
    """Describe the measured installation: its databases, versions, cores and architecture."""
    base = "the embedded default" if settings.EMBEDDED else "PostgreSQL and Redis"
    versions = f"Python {platform.python_version()}, Django {django.get_version()}"
    return f"{base}: {versions}, {os.cpu_count()} cores, {platform.machine()}"


if __name__ == "__main__":
    sys.exit(main())
