"""Fuzz the service: `python -m tests.fuzz [--requests 20000] [--seed N]`.

It runs on a database of its own, on what TEST_DATABASE_URL and TEST_REDIS_URL name, or embedded.
"""

# ruff: noqa: E402, I001, T201 - the environment is set before Django reads it; it prints

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

from tests.conftest import caller
from tests.factories.chatbots import ChatbotFactory
from tests.fuzzing import Fuzzer
from tests.servers.processes import Web


def main() -> int:
    """Run, and say what came of it; returns 1 where an answer was wrong."""
    parser = argparse.ArgumentParser(description="Send hostile requests to every operation.")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        chatbot = ChatbotFactory()
        key = caller(chatbot.account.owner).key or ""
        with Web() as web:
            fuzzer = Fuzzer(port=web.port, key=key, chatbot=chatbot, seed=options.seed)
            fuzzer.run(options.requests)
    finally:
        connection.close()
        teardown_databases(databases, verbosity=0)
    for status, count in sorted(fuzzer.statuses.items()):
        print(f"  {status}: {count}")
    for fault, sent in fuzzer.faults[:20]:
        print(f"{fault}\n  {sent.method} {sent.path[:200]} {sent.headers} {sent.body[:200]!r}")
    print(f"slowest answer: {fuzzer.slowest:.2f} s")
    print(f"{len(fuzzer.faults)} faults in {options.requests} requests (seed {options.seed})")
    return 1 if fuzzer.faults else 0


if __name__ == "__main__":
    sys.exit(main())
