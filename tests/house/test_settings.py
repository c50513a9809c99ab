"""Each setting is read in one file and explained in one table."""

import ast
import re

from tests.house.source import PACKAGES, ROOT, modules, place, tree

SETTINGS = ROOT / "config" / "settings.py"
READERS = {SETTINGS, ROOT / "config" / "environment.py"}
OF_THE_TESTS = {"TEST_DATABASE_URL", "TEST_REDIS_URL"}
NAME = re.compile(r"\b[A-Z][A-Z0-9_]*(?:…)?")


def read_by_settings() -> set[str]:
    """Return the variables that settings.py reads: env.<kind>("NAME", …)."""
    return {
        str(call.args[0].value)
        for call in ast.walk(tree(SETTINGS))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "env"
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


def explained_in_readme() -> set[str]:
    """Return the variables in the first column of tables whose heading begins with `variable`."""
    names: set[str] = set()
    inside = False
    for line in (ROOT / "README.md").read_text().splitlines():
        first = line.strip().strip("|").split("|")[0] if line.strip().startswith("|") else None
        if first is None:
            inside = False
        elif first.strip().lower().startswith("variable"):
            inside = True
        elif inside:
            names.update(NAME.findall(first))
    return names


def test_every_variable_that_is_read_is_explained():
    assert read_by_settings()
    assert not read_by_settings() - explained_in_readme()


def test_every_variable_that_is_explained_is_read():
    families = {name for name in explained_in_readme() if name.endswith("…")}
    read = read_by_settings() | {"LLM_API_KEY"}  # settings.py finds that family by its prefix
    assert not explained_in_readme() - families - OF_THE_TESTS - read


def reads_environment(node: ast.AST) -> bool:
    """Return whether a node looks up a variable; passing all to a child process does not count."""
    if isinstance(node, ast.Attribute):
        return node.attr == "getenv" or ast.unparse(node) == "os.environ.get"
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node.value) == "os.environ"
    )


def test_only_settings_read_the_environment():
    found = [
        place(path, node)
        for path in modules(*PACKAGES)
        if path not in READERS
        for node in ast.walk(tree(path))
        if reads_environment(node)
    ]
    assert not found
