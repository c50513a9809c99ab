"""docs/open-points.md agrees with the OpenAPI document and with the code that it refers to."""

import re

from drf_spectacular.generators import SchemaGenerator

from tests import conformance
from tests.house.source import ROOT

LEDGER = ROOT / "docs" / "open-points.md"
CHOICES = conformance.read_ledger(LEDGER)


def named(document: object) -> set[str]:
    """Collect the open points that are mentioned anywhere in a nested document."""
    if isinstance(document, dict):
        inner = [named(value) for name, value in document.items() if name != "x-open-point"]
        return set().union(document.get("x-open-point", ()), *inner)
    if isinstance(document, list):
        return set().union(*map(named, document))
    return set()


def defines(file: str, name: str) -> bool:
    """Return whether a module contains a definition of a name, or an assignment to it."""
    last = name.rpartition(".")[2]
    defined = rf"^\s*(?:async )?(?:def |class )?(?:\w+, )*{last}\b\s*[(:=,]"
    return re.search(defined, (ROOT / file).read_text(), re.M) is not None


def test_every_row_of_the_ledger_is_complete_and_unique() -> None:
    table, _, _ = LEDGER.read_text().partition(conformance.CHOICES)
    rows = [row for row in re.findall(r"^\| ([\w-]+) \|", table, re.M) if row != "id"]
    assert sorted(rows) == sorted(CHOICES)
    assert len(rows) == len(set(rows)) >= 70
    assert not [choice.id for choice in CHOICES.values() if not choice.places]


def test_the_code_defines_every_name_in_the_ledger() -> None:
    places = conformance.PLACE.findall(LEDGER.read_text())
    assert len(places) > 70
    assert not [(file, name) for file, name in places if not defines(file, name)]


def test_the_openapi_document_contains_exactly_the_choices_of_the_ledger() -> None:
    document = SchemaGenerator().get_schema(request=None, public=True)
    assert named(document) == set(CHOICES)
