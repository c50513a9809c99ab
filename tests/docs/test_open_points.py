"""docs/open-points.md agrees with the OpenAPI document and with the code that it refers to."""

import ast
import re
from pathlib import Path

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests import conformance
from tests.house.source import PACKAGES, ROOT, modules, place, tree

LEDGER = ROOT / "docs" / "open-points.md"
CHOICES = conformance.read_ledger(LEDGER)
_, _, ADDITIONS = LEDGER.read_text().partition(conformance.CHOICES)
ADDED = set(re.findall(r"^\| ([\w-]+) \|", ADDITIONS, re.M))
PLACES = sorted(
    {at for choice in CHOICES.values() for at in choice.places}
    | set(conformance.PLACE.findall(ADDITIONS))
)
MENTION = re.compile(r"Open points?: ([a-z-]+(?:,\s+[a-z-]+)*)")


def named(document: object) -> set[str]:
    """Collect the open points that are mentioned anywhere in a nested document."""
    if isinstance(document, dict):
        inner = [named(value) for name, value in document.items() if name != "x-open-point"]
        return set().union(document.get("x-open-point", ()), *inner)
    if isinstance(document, list):
        return set().union(*map(named, document))
    return set()


def defined(path: Path) -> set[str]:
    """Return the names defined at the top level of a module or inside its classes."""
    names: set[str] = set()

    def gather(body: list[ast.stmt], above: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(above + node.name)
                if isinstance(node, ast.ClassDef):
                    gather(node.body, f"{above}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                names.update(above + part.id for part in parts if isinstance(part, ast.Name))

    gather(tree(path).body, "")
    return names


def test_every_row_of_the_ledger_is_complete_and_unique() -> None:
    table, _, _ = LEDGER.read_text().partition(conformance.CHOICES)
    rows = [row for row in re.findall(r"^\| ([\w-]+) \|", table, re.M) if row != "id"]
    assert sorted(rows) == sorted(CHOICES)
    assert len(rows) == len(set(rows)) >= 70
    assert not [choice.id for choice in CHOICES.values() if not choice.places]


@pytest.mark.parametrize(("file", "name"), PLACES)
def test_the_code_defines_every_name_in_the_ledger(file: str, name: str) -> None:
    assert name in defined(ROOT / file)


def test_the_openapi_document_contains_exactly_the_choices_of_the_ledger() -> None:
    document = SchemaGenerator().get_schema(request=None, public=True)
    assert named(document) == set(CHOICES)


def test_every_open_point_named_in_the_code_is_in_the_ledger() -> None:
    found = {
        f"{place(path)} {point}"
        for path in modules(*PACKAGES)
        for mention in MENTION.findall(path.read_text())
        for point in re.split(r",\s+", mention)
        if point not in CHOICES and point not in ADDED
    }
    assert not found
