"""Each test file is named after its subject, so that tests are easy to find."""

import ast
import re
from pathlib import Path

import pytest

from tests import conformance
from tests.house.source import PACKAGES, ROOT, files, modules, place, tree

TESTS = ROOT / "tests"
HEADINGS = conformance.read_index(ROOT / "docs" / "specification-index.toml")

# Folders that are exempt from the naming rule, and what their tests are about. Other test files are
# named after a module, a document or a heading of the specification.
ACROSS = {
    "browser": "staff workflows in a real browser, which span pages of several apps",
    "faults": "faults in one part of the installation; the file is named after the part",
    "house": "rules that the whole source follows",
    "service": "the whole service as an operator runs it, from start to stop",
}


def slug(heading: str) -> str:
    """Turn a heading into part of a file name.

    For example, `Pagination (list endpoints)` becomes `pagination`.
    """
    return "_".join(re.findall(r"[a-z0-9]+", heading.partition("(")[0].lower()))


def subjects() -> dict[str, set[str]]:
    """Return the subjects that test files can be named after, keyed by their folder in tests/."""
    found: dict[str, set[str]] = {}
    for path in [*modules(*PACKAGES), *files(TESTS)]:
        if path.suffix != ".py" or path.name.startswith("test_"):
            continue
        named = path.parent if path.name == "__init__.py" else path.with_suffix("")
        mirror = named.relative_to(TESTS if named.is_relative_to(TESTS) else ROOT)
        parts = [part for part in mirror.parts if part != "management"]
        if parts:
            found.setdefault(str(Path(*parts[:-1])), set()).add(parts[-1])
    documents = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    found["docs"] = {path.stem.lower().replace("-", "_") for path in documents}
    found["contract"] = {slug(heading.name) for heading in HEADINGS}
    return found


def has_subject(path: Path, known: dict[str, set[str]]) -> bool:
    """Return whether a file is named after a subject or is in an exempt folder.

    The name must be `test_<subject>.py` or `test_<subject>_<aspect>.py`.
    """
    folder = path.relative_to(TESTS).parent
    if folder.parts and folder.parts[0] in ACROSS:
        return True
    name = path.stem.removeprefix("test_")
    return any(name == one or name.startswith(f"{one}_") for one in known.get(str(folder), ()))


def test_every_test_file_is_named_after_what_it_tests() -> None:
    known = subjects()
    tests = [path for path in files(TESTS) if re.fullmatch(r"test_\w+\.py", path.name)]
    assert len(tests) > 100
    assert not [place(path) for path in tests if not has_subject(path, known)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("accounts/test_keys.py", True),
        ("accounts/commands/test_issue_api_key.py", True),
        ("chatbots/viewsets/test_chatbot_lists.py", True),
        ("chatbots/test_texts.py", True),
        ("contract/test_limits.py", True),
        ("contract/test_http_statuses_order.py", True),
        ("docs/test_open_points.py", True),
        ("tools/bench/test_measures.py", True),
        ("faults/test_anything.py", True),
        ("accounts/test_key.py", False),
        ("accounts/test_keyset.py", False),
        ("chatbots/test_issue_api_key.py", False),
        ("contract/test_wire.py", False),
        ("docs/test_anything.py", False),
        ("test_anything.py", False),
    ],
)
def test_a_file_without_a_subject_is_found(path: str, expected: bool) -> None:
    assert has_subject(TESTS / path, subjects()) is expected


def test_each_exempt_folder_exists() -> None:
    assert all((TESTS / folder).is_dir() for folder in ACROSS)


def test_no_test_file_is_imported() -> None:
    """Code that several tests share must have its own module, named after its content."""
    found = [
        place(path, node)
        for path in modules("tests")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        and node.module
        and (node.module.split(".")[-1].startswith("test_") and node.module.startswith("tests."))
    ]
    assert not found
