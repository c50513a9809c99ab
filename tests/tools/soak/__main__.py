"""Prove that nothing is lost: `python -m tests.tools.soak [SCENARIO] [--servers | --embedded]`.

The soak runs the service twice: on the embedded default, and on PostgreSQL and Redis servers of its
own. It sends messages through the API while parts of the service fail, and checks that
no webhook or reply is missing.
"""

# ruff: noqa: E402, I001, T201 - the environment is set before Django reads it; this command prints

import argparse
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

for name in ("TEST_DATABASE_URL", "TEST_REDIS_URL"):  # the soak starts its own servers
    os.environ.pop(name, None)

import tests.environment  # noqa: F401
import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from tests.tools.soak import faults, replies, report
from tests.tools.soak.ground import SERVERS, Ground, NotInTime, embedded, servers, servers_are_there
from tests.tools.soak.judge import judge
from tests.tools.soak.run import run

# The default number of events (or messages) and of faults for each scenario
SIZES = {"deliveries": (5_000, 200), "replies": (2_000, 40)}
Where = Callable[[], AbstractContextManager[Ground]]


def main() -> int:
    """Run the soak, write the report, and return the exit code.

    The code is 1 if a rule was broken, 2 if the soak could not start or did not end in time, and 0
    otherwise.
    """
    options = parse()
    grounds: list[Where] = []
    if options.only != "servers":
        grounds.append(embedded)
    if options.only != "embedded" and servers_are_there():
        grounds.append(servers)
    elif options.only != "embedded":
        print(f"left out: {SERVERS} (needs initdb and redis-server)", flush=True)
    if not grounds:
        return 2
    told = []
    try:
        for ground in grounds:
            told.append(SCENARIOS[options.scenario](ground, options))
    except NotInTime as error:
        print(f"seed {options.seed}: {error}", file=sys.stderr)
        return 2
    finally:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(json.dumps(told, indent=2) + "\n")
    return int(any(one["violations"] for one in told))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak", description=__doc__)
    parser.add_argument("scenario", nargs="?", choices=SIZES, default="deliveries")
    parser.add_argument("--events", type=int, help="number of events or messages")
    parser.add_argument("--faults", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--report", type=Path, default=Path("build/soak.json"))
    parser.add_argument("--ceiling", type=float, default=3_600.0, help="maximum seconds of a run")
    for only in ("servers", "embedded"):
        parser.add_argument(f"--{only}", dest="only", action="store_const", const=only)
    options = parser.parse_args()
    events, count = SIZES[options.scenario]
    options.events, options.faults = options.events or events, options.faults or count
    return options


def soak_deliveries(where: Where, options: Any) -> dict[str, Any]:
    """Run the delivery soak on an installation, and print a summary of the report."""
    with where() as ground:
        print(f"{ground.name}, seed {options.seed}", flush=True)
        kinds = faults.kinds_of(ground, count=options.faults, seed=options.seed)
        story = run(
            ground, kinds, events=options.events, seed=options.seed, ceiling=options.ceiling
        )
        told = report.write(ground, story, judge(story), seed=options.seed)
        if told["violations"]:
            keep_logs(ground, options.report)
    show(told)
    return told


def keep_logs(ground: Ground, beside: Path) -> None:
    """Copy the logs of the service's processes to files next to the report."""
    for number, process in enumerate(ground.processes):
        kept = beside.with_name(f"{beside.stem}-{ground.name.split()[-1]}-{number}.log")
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(process.log, kept)
        print(f"  log kept: {kept}", flush=True)


def soak_replies(where: Where, options: Any) -> dict[str, Any]:
    """Run the reply soak on an installation, and print the report."""
    with where() as ground:
        print(f"{ground.name}, replies, seed {options.seed}", flush=True)
        size = {"messages": options.events, "faults": options.faults}
        told = replies.run(ground, **size, seed=options.seed, ceiling=options.ceiling)
    show(told)
    return told


def show(told: dict[str, Any]) -> None:
    for key, value in told.items():
        print(f"  {key}: {json.dumps(value)}", flush=True)


SCENARIOS = {"deliveries": soak_deliveries, "replies": soak_replies}


if __name__ == "__main__":
    began = time.monotonic()
    code = main()
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    sys.exit(code)
