"""The product uses no private name of a library, and replaces none of a library's attributes.

A private name can change with any release. EXTENSION_POINTS lists the exceptions, which the library
itself documents as the way to extend it, each with its reason.
"""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import PACKAGES, ROOT, modules, place, tree

# Underscore names that Django and the standard library document for everyone
DOCUMENTED = {
    *("_meta", "_base_manager", "_default_manager", "_state", "_replace", "_asdict", "_fields"),
    *("_make", "_name_", "_missing_", "_value_", "_generate_next_value_"),
}
SPECTACULAR = "drf-spectacular documents subclassing AutoSchema and its _map methods"
EXTENSION_POINTS = {
    "overrides drf_spectacular.openapi.AutoSchema._map_basic_serializer": SPECTACULAR,
    "overrides drf_spectacular.openapi.AutoSchema._map_serializer_field": SPECTACULAR,
}
ENTRY_POINTS = {"wsgi"}  # importing them starts the service
OWN = ("self", "cls", "os")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED


def is_typing(module: str) -> bool:
    return module.startswith("_typeshed")  # exists only for type checkers


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def imports(file: ast.Module) -> dict[str, str]:
    """Return the libraries' names that a module imports, keyed by the names that it gives them."""
    found = {}
    for node in ast.walk(file):
        if isinstance(node, ast.ImportFrom) and node.module and not is_typing(node.module):
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.asname or one.name.partition(".")[0]: one.name for one in node.names}
    return {name: full for name, full in found.items() if not is_ours(full)}


def root(node: ast.expr) -> str:
    """Return the first name of a dotted expression, or an empty string."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def used(file: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield what a module imports, uses or replaces although it is private to a library."""
    known = imports(file)
    for full in known.values():
        parts = full.split(".")
        if private := next(filter(is_private, parts), ""):
            yield 1, f"imports {'.'.join(parts[: parts.index(private) + 1])}"
    for node in ast.walk(file):
        for target in targets(node):
            library = known.get(root(target), "") if isinstance(target, ast.Attribute) else ""
            if library and not library.startswith("django.conf"):
                yield node.lineno, f"replaces {ast.unparse(target)}"
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            text = ast.unparse(node.value)
            if text not in OWN and not text.startswith("super("):
                yield node.lineno, f"uses {ast.unparse(node)[:70]}"


def targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def overridden(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the private methods and attributes of libraries that a module's classes override."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    module = importlib.import_module(name)
    for node in ast.walk(tree(path)):
        cls = getattr(module, node.name, None) if isinstance(node, ast.ClassDef) else None
        if not inspect.isclass(cls) or cls.__module__ != name or not isinstance(node, ast.ClassDef):
            continue
        for attribute in filter(is_private, bodies(node)):
            owners = [base for base in cls.__mro__[1:] if attribute in vars(base)]
            if owners and not is_ours(owners[0].__module__):
                owner = f"{owners[0].__module__}.{owners[0].__qualname__}"
                yield node.lineno, f"overrides {owner}.{attribute}"


def bodies(node: ast.ClassDef) -> set[str]:
    """Return the names that the body of a class defines."""
    functions = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    names = {
        target.id for one in node.body for target in targets(one) if isinstance(target, ast.Name)
    }
    return functions | names


def test_no_private_name_of_a_library_is_used() -> None:
    found = {
        what: f"{place(path)}:{line}"
        for path in modules(*PACKAGES)
        for line, what in [
            *used(tree(path)),
            *(overridden(path) if path.stem not in ENTRY_POINTS else ()),
        ]
    }
    assert not {what: where for what, where in found.items() if what not in EXTENSION_POINTS}
    assert set(EXTENSION_POINTS) <= set(found)
