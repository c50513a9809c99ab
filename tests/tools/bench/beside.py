"""Compare two checkouts: run the same measures in both in turn, and print the medians.

Each checkout runs its own benchmarks with its own virtual environment. Alternating between them
spreads the noise of a busy machine over both.
"""

import json
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.servers.processes import ROOT


def compare(other: Path, measures: Sequence[str], *, size: float, rounds: int) -> None:
    """Print the median of each figure, first of the other checkout, then of this one."""
    found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for number in range(rounds):
        sides = [(0, other.resolve()), (1, ROOT)]
        for side, folder in sides if number % 2 else sides[::-1]:
            for name, value in leaves(measured(folder, measures, size)):
                found[name][side].append(value)
    for name, (theirs, ours) in found.items():
        if theirs and ours:
            print(  # noqa: T201
                f"  {name:44} {statistics.median(theirs):10.4g} {statistics.median(ours):10.4g}"
            )


def measured(folder: Path, measures: Sequence[str], size: float) -> dict[str, Any]:
    """Run benchmarks in a checkout, and return their figures. They must succeed."""
    package = "tests.tools.bench" if (folder / "tests" / "tools").is_dir() else "tests.bench"
    with tempfile.TemporaryDirectory() as kept:
        file = Path(kept) / "figures.json"
        command = [str(folder / ".venv" / "bin" / "python"), "-m", package, *measures]
        command += ["--size", str(size), "--json", str(file)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        figures: dict[str, Any] = json.loads(file.read_text())["figures"]
    return figures


def leaves(figures: dict[str, Any], name: str = "") -> Iterator[tuple[str, float]]:
    """Yield each number with its place, such as `api, GET history, ratio`."""
    for key, value in figures.items():
        place = f"{name}, {key}" if name else key
        if isinstance(value, dict):
            yield from leaves(value, place)
        elif isinstance(value, (int, float)):
            yield place, value
