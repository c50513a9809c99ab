"""The source follows rules that neither types nor import contracts can express."""

import ast

from tests.house.source import PACKAGES, modules, place, tree

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
