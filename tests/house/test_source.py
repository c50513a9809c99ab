"""The source follows rules that neither types nor import contracts can express."""

import ast

import pytest

from tests.house.source import APPS, PACKAGES, modules, place, tree

EMPTY_NAMES = {"utils.py", "helpers.py", "common.py", "util.py", "helper.py", "misc.py"}
MANAGERS = {"objects", "_default_manager", "_base_manager"}
BY_CHANCE = {"uuid1", "uuid4", "new_id", "now", "time", "random", "token_hex", "token_urlsafe"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LONGEST_FILE, LONGEST_FUNCTION = 350, 40


def test_a_viewset_uses_its_own_rows_and_never_a_manager() -> None:
    found = [
        place(path, node)
        for path in modules(*PACKAGES)
        if path.parent.name == "viewsets" and path.name != "base.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in MANAGERS
    ]
    assert not found, "use self.rows() or self.get(id)"


def test_a_file_is_named_after_its_content() -> None:
    assert not [place(path) for path in modules(*PACKAGES, "tests") if path.name in EMPTY_NAMES]


def test_no_file_is_too_long() -> None:
    lengths = {place(path): path.read_text().count("\n") for path in modules(*PACKAGES, "tests")}
    assert not {name: length for name, length in lengths.items() if length > LONGEST_FILE}


def test_no_function_is_too_long() -> None:
    found = {
        f"{place(path, node)} {node.name}": length
        for path in modules(*PACKAGES, "tests")
        for node in ast.walk(tree(path))
        if isinstance(node, FUNCTIONS)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert not found


def unannotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the parameters that lack an annotation, and "return" if the return type is missing."""
    those = function.args
    extra = [one for one in (those.vararg, those.kwarg) if one]
    named = [*those.posonlyargs, *those.args, *those.kwonlyargs, *extra]
    missing = [one.arg for one in named if not one.annotation and one.arg not in {"self", "cls"}]
    return missing if function.returns else [*missing, "return"]


def test_the_functions_of_the_tests_are_annotated() -> None:
    """The type checker skips the tests, so it does not report missing annotations in them."""
    found = {
        f"{place(path, node)} {node.name}": missing
        for path in modules("tests")
        for node in ast.walk(tree(path))
        if isinstance(node, FUNCTIONS) and (missing := unannotated(node))
    }
    assert not found


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("def a(): ...", ["return"]),
        ("def a(b) -> None: ...", ["b"]),
        ("async def a(b: int, *c, d=1, **e): ...", ["d", "c", "e", "return"]),
        ("def a(self, b: int, /, *c: str, d: int = 1, **e: str) -> None: ...", []),
    ],
)
def test_a_missing_annotation_is_found(source: str, missing: list[str]) -> None:
    [function] = ast.parse(source).body
    assert isinstance(function, FUNCTIONS)
    assert unannotated(function) == missing


def test_packages_re_export_only_where_django_needs_it() -> None:
    """Django needs re-exports in `models` and `admin`.

    `texts` is also exempt, because its code is in `__init__.py`, next to its data files.
    """
    found = [
        place(path)
        for path in modules(*APPS)
        if path.name == "__init__.py"
        and path.parent.name not in {"models", "admin", "texts"}
        and [node for node in tree(path).body if not isinstance(node, ast.Expr)]
    ]
    assert not found


def test_parametrized_values_are_the_same_in_every_process() -> None:
    """All processes that run the tests in parallel must collect the same cases."""
    found = [
        place(path, call)
        for path in modules("tests")
        for function in ast.walk(tree(path))
        if isinstance(function, FUNCTIONS)
        for decorator in function.decorator_list
        for call in ast.walk(decorator)
        if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in BY_CHANCE
    ]
    assert not found, "write the value out"
