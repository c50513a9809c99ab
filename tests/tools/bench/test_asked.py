"""A benchmark run that misses a target fails, and reports the figure that missed it."""

import subprocess
import sys

import pytest

from tests.servers.processes import ROOT
from tests.tools.bench.asked import missed
from tests.tools.bench.servers import environment_without_servers

RUN = """import sys
from tests.tools.bench import __main__, asked
asked.ASKED["search"] = {"search_p95_ms": 0.0}
sys.argv[1:] = ["search", "--size", "0.001"]
sys.exit(__main__.main())"""


@pytest.mark.parametrize(
    ("measure", "found", "lines"),
    [
        ("lists", {"first page": {"ratio": 1.5}, "tests": {"ratio": 0.9}}, []),
        (
            "lists",
            {"first page": {"ratio": 1.51}, "tests": {"ratio": float("nan")}},
            [
                "missed: lists, first page: ratio 1.51, target at most 1.5",
                "missed: lists, tests: ratio nan, target at most 1.5",
            ],
        ),
        (
            "exports",
            {"export_first_byte_s": 0.4, "export_memory_above_idle_mb": 100.4},
            ["missed: exports: export_memory_above_idle_mb 100.4, target at most 100"],
        ),
        ("search", {"search_p95_ms": 50.0, "search_all_p95_ms": 70.0}, []),
        ("ledger", {"ledger_seconds": 1e9}, []),
    ],
)
def test_each_figure_that_misses_its_target_is_named(
    measure: str, found: dict[str, object], lines: list[str]
) -> None:
    assert [*missed(measure, found)] == lines


@pytest.mark.slow
def test_a_run_that_misses_a_target_fails() -> None:
    run = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=ROOT,
        env=environment_without_servers(),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    assert run.stdout.splitlines()[-1].startswith("missed: search: search_p95_ms ")
