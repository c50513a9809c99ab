"""Fuzz the service: `python -m tests.tools.fuzz [--requests 20000] [--seed N]`.

The service uses a new database on the servers at TEST_DATABASE_URL and TEST_REDIS_URL. If neither
is set, it uses the embedded default with a new SQLite file.
"""

# ruff: noqa: E402, I001, T201 - the environment is set before Django reads it; this command prints

import argparse
import os
import random
import sys

import tests.environment  # noqa: F401
import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection
from django.test.utils import setup_databases, teardown_databases

from tests.factories.chatbots import ChatbotFactory
from tests.tools.fuzz.fuzzer import fuzz


def main() -> int:
    """Run the fuzzer, print a summary, and return 1 if it found a fault, or else 0."""
    parser = argparse.ArgumentParser(description="Send hostile requests to every operation.")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        fuzzer = fuzz(ChatbotFactory(), count=options.requests, seed=options.seed)
    finally:
        connection.close()
        teardown_databases(databases, verbosity=0)
    for status, count in sorted(fuzzer.statuses.items()):
        print(f"  {status}: {count}")
    for fault, sent in fuzzer.faults[:20]:
        print(fault)
        if sent:
            print(f"  {sent.method} {sent.path[:200]} {sent.headers} {sent.body[:200]!r}")
    print(f"slowest response: {fuzzer.slowest:.2f} s")
    print(f"{len(fuzzer.faults)} faults in {options.requests} requests (seed {options.seed})")
    return 1 if fuzzer.faults else 0


if __name__ == "__main__":
    sys.exit(main())
