"""Public modules, classes and functions have docstrings.

The docstring of a class or function must say more than the name does.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.house.source import PACKAGES, ROOT, modules, place, tree

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (ast.ClassDef, *FUNCTIONS)
# Base classes of app configs and commands. Subclasses need no docstring of their own.
OF_DJANGO = ("AppConfig", "BaseCommand", "RecordCommand")
FILLERS = frozenset(
    """
    a all an and are as at be by each every for from given if in into is it its no of on one or own
    return returns raise raises that the their them this to was when where which with
    """.split()  # noqa: SIM905 - a paragraph of words is easier to read than a list
)
SUFFIXES = ("ies", "es", "s", "ing", "ed", "d", "er")
LONGEST_STEM = 5


def public(body: list[ast.stmt], path: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield all public definitions except nested functions, with their dotted names."""
    for node in body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_") and node.name != "Meta":
            yield f"{path}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{path}{node.name}.")


def overrides(module: str, name: str) -> bool:
    """Return whether a method overrides a method of a base class.

    If it does, the base method's docstring documents both methods.
    """
    owner_name, _, method = name.rpartition(".")
    if not owner_name:
        return False
    owner = import_module(module)
    for part in owner_name.split("."):
        owner = getattr(owner, part)
    return any(method in vars(base) for base in inspect.getmro(owner)[1:])


def undocumented(body: list[ast.stmt]) -> list[tuple[str, int]]:
    """Return the names and line numbers of public definitions without a docstring."""
    return [
        (name, node.lineno)
        for name, node in public(body)
        if not ast.get_docstring(node) and not (isinstance(node, ast.ClassDef) and of_django(node))
    ]


def of_django(node: ast.ClassDef) -> bool:
    """Return whether a class is a Django app config or command."""
    return any(ast.unparse(base).split(".")[-1] in OF_DJANGO for base in node.bases)


def words(text: str) -> list[str]:
    """Split text into word stems. The text may contain names in snake_case or CamelCase."""
    parted = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return [stem(word.lower()) for word in re.findall(r"[A-Za-z]+", parted)]


def stem(word: str) -> str:
    """Reduce a word to a stem, which is the same for "creates", "created" and "create"."""
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word.removesuffix(suffix)[:LONGEST_STEM]
    return word[:LONGEST_STEM]


def echoes(name: str, docstring: str) -> bool:
    """Return whether a docstring consists only of words from the name and filler words."""
    return set(words(docstring)) <= {*words(name), *map(stem, FILLERS), "s"}


def dotted(path: Path) -> str:
    """Return the name by which a module is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_every_public_module_class_and_function_has_a_docstring() -> None:
    found = [
        f"{place(path)}:{line} {name}"
        for path in modules(*PACKAGES)
        for name, line in undocumented(tree(path).body)
        if not overrides(dotted(path), name)
    ]
    found += [
        place(path)
        for path in modules(*PACKAGES)
        if path.name != "__init__.py" and not ast.get_docstring(tree(path))
    ]
    assert not found, "without a docstring:\n" + "\n".join(found)


def test_a_docstring_says_more_than_the_name() -> None:
    """Viewsets and serializers are exempt, because the OpenAPI document shows their docstrings."""
    found = [
        f"{place(path, node)} {name}"
        for path in modules(*PACKAGES)
        if path.parent.name not in ("viewsets", "serializers")
        for name, node in public(tree(path).body)
        if (docstring := ast.get_docstring(node)) and echoes(f"{path.stem} {name}", docstring)
    ]
    assert not found, "docstrings that only repeat the name:\n" + "\n".join(found)


def test_a_definition_without_a_docstring_is_found_with_its_line() -> None:
    source = '''
class Shown:
    def said(self): ...
    def _private(self): ...
    class Meta: ...

class Command(BaseCommand): ...

def told():
    """Say something."""
    def nested(): ...

async def late(): ...
'''
    found = undocumented(ast.parse(source).body)
    assert found == [("Shown", 2), ("Shown.said", 3), ("late", 13)]


@pytest.mark.parametrize(
    ("name", "found"),
    [("JsonFormatter.format", True), ("masked", False)],
)
def test_only_methods_that_a_base_class_has_are_overrides(name: str, found: bool) -> None:
    assert overrides("config.runtime.logs", name) is found


@pytest.mark.parametrize(
    ("name", "docstring", "found"),
    [
        ("lead.erase", "Erase a lead.", True),
        ("LeadSettingsForm", "The form of lead settings.", True),
        ("created_at", "Return when it was created.", True),
        ("lead.erase", "Erase a lead and its mails.", False),
        ("masked", "Replace everything that looks like a secret with asterisks.", False),
    ],
)
def test_a_docstring_that_repeats_the_name_is_found(name: str, docstring: str, found: bool) -> None:
    assert echoes(name, docstring) is found
