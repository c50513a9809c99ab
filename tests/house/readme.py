"""Read the table of settings in README.md."""

import re

from tests.house.source import ROOT

OF_THE_TESTS = {"TEST_DATABASE_URL", "TEST_REDIS_URL"}
NAME = re.compile(r"\b[A-Z][A-Z0-9_]*(?:…)?")


def readme_rows() -> list[list[str]]:
    """Return the rows of each table whose header begins with `variable`, including the header."""
    rows: list[list[str]] = []
    inside = False
    for line in (ROOT / "README.md").read_text().splitlines():
        cells = line.strip().strip("|").split("|") if line.strip().startswith("|") else [""]
        inside = cells[0].strip().lower().startswith("variable") or (inside and bool(cells[0]))
        rows += [cells] if inside else []
    return rows


def explained_in_readme() -> set[str]:
    """Return the variables in the first column of the rows that `readme_rows` returns."""
    return {name for variables, *_ in readme_rows() for name in NAME.findall(variables)}
