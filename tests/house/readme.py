"""Read the table of settings in README.md."""

import re

from tests.house.source import ROOT

OF_THE_TESTS = {"TEST_DATABASE_URL", "TEST_REDIS_URL"}
NAME = re.compile(r"\b[A-Z][A-Z0-9_]*(?:…)?")


def readme_rows() -> list[list[str]]:
    """Return all rows, including headers, of the tables whose first column is headed `variable`."""
    rows: list[list[str]] = []
    inside = False
    for line in (ROOT / "README.md").read_text().splitlines():
        cells = line.strip().strip("|").split("|") if line.strip().startswith("|") else [""]
        inside = cells[0].strip().lower().startswith("variable") or (inside and bool(cells[0]))
        rows += [cells] if inside else []
    return rows


def explained_in_readme() -> set[str]:
    """Return the names of the variables that the README's tables explain."""
    return {name for variables, *_ in readme_rows() for name in NAME.findall(variables)}
