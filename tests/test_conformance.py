"""The rules, and the tests that prove them, are read from files and checked for gaps."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests import conformance
from tests.conformance import Choice, Proof

INDEX = """
    [[heading]]
    name = "Personas"
    open = ["texts"]
    [heading.rules]
    update = "a persona changes"
    [heading.rule-open]
    update = ["types"]

    [[heading]]
    name = "Request headers"
    open = []
"""
LEDGER = """
    | id | what is open | what the service does | decided in |
    |---|---|---|---|
    | texts | trimming | a pipe \\| and `code` | `a/b.py` `Text`, `a/c.py` `Class.method` |
    | types | strictness | strict | `a/b.py` `Whole` |

    ## Additions

    | addition | does | where |
    |---|---|---|
    | extra | nothing | `a/d.py` `Extra` |
"""
TESTS = """
    import pytest
    from pytest import mark

    pytestmark = [pytest.mark.django_db, pytest.mark.proves("Personas")]
    put = pytest.mark.proves("by a name")

    @pytest.mark.proves("Personas/update", "another")
    @pytest.mark.parametrize("x", ["not a rule"])
    def test_one(x): ...

    @put
    def test_two(): ...

    @mark.proves("of a class")
    class TestIt:
        async def test_three(self): ...
        def helper(self): ...

    def not_a_test(): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("index.toml", INDEX), ("ledger.md", LEDGER), ("tests/test_x.py", TESTS)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(dedent(text))
    return tmp_path


def test_a_test_proves_what_its_module_its_class_and_its_own_marker_name(folder: Path) -> None:
    found = {proof.test: set(proof.rules) for proof in conformance.collect(folder / "tests")}
    assert found == {
        "tests/test_x.py::test_one": {"Personas", "Personas/update", "another"},
        "tests/test_x.py::test_two": {"Personas", "by a name"},
        "tests/test_x.py::TestIt::test_three": {"Personas", "of a class"},
    }


def test_mismatches_are_reported(folder: Path) -> None:
    headings = conformance.read_index(folder / "index.toml")
    proofs = [Proof("t::a", frozenset({"Personas"})), Proof("t::b", frozenset({"Nothing"}))]
    assert list(conformance.faults(headings, {"texts": Choice("texts", "", ())}, proofs)) == [
        "no test proves 'Personas/update'",
        "no test proves 'Request headers'",
        "t::b proves 'Nothing', which is neither a heading nor a rule",
        "the index names 'types', which is not an open point",
    ]
    unused = {name: Choice(name, "", ()) for name in ("texts", "types", "unused")}
    good = [Proof("t::a", frozenset({"Personas/update", "Request headers"}))]
    assert list(conformance.faults(headings, unused, good)) == [
        "no heading names the open point 'unused'"
    ]


def test_an_outdated_page_fails_the_check(folder: Path) -> None:
    docs = folder / "docs"
    docs.mkdir()
    (folder / "index.toml").rename(docs / "specification-index.toml")
    (folder / "ledger.md").rename(docs / "open-points.md")
    with pytest.raises(SystemExit, match="no test proves 'Request headers'"):
        conformance.main([], root=folder)
    tests = folder / "tests" / "test_x.py"
    names = {"another": "Personas", "by a name": "Request headers", "of a class": "Personas"}
    for name, rule in names.items():
        tests.write_text(tests.read_text().replace(f'"{name}"', f'"{rule}"'))
    with pytest.raises(SystemExit, match="out of date"):
        conformance.main(["--check"], root=folder)
    conformance.main([], root=folder)
    conformance.main(["--check"], root=folder)
    tests.write_text(tests.read_text().replace("test_one", "test_other"))
    with pytest.raises(SystemExit, match="out of date"):
        conformance.main(["--check"], root=folder)
