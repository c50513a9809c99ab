"""README.md explains each variable that the settings read, and states its default."""

import ast
import re

from tests.house.readme import NAME, OF_THE_TESTS, explained_in_readme, readme_rows
from tests.house.source import ROOT, tree

SETTINGS = ROOT / "config" / "settings.py"
STATED_IN_WORDS = {"ALLOWED_HOSTS"}
SET_BY_SERVE = {"PROMETHEUS_MULTIPROC_DIR"}  # for its child processes


def defaults() -> dict[str, object]:
    """Return the default of each variable that settings.py reads with `env.<kind>(…)`."""
    return {
        str(call.args[0].value): ast.literal_eval(call.args[1])
        for call in ast.walk(tree(SETTINGS))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "env"
        and isinstance(call.args[0], ast.Constant)
    }


def read_directly() -> set[str]:
    """Return the variables that settings.py reads from os.environ instead of through `env`."""
    reads = r"""os\.(?:environ\[|environ\.get\(|getenv\()\s*["'](\w+)"""
    return set(re.findall(reads, SETTINGS.read_text()))


def test_the_readme_explains_exactly_the_variables_that_are_read() -> None:
    families = {name for name in explained_in_readme() if name.endswith("…")}
    read = {*defaults(), *read_directly()} - SET_BY_SERVE
    assert defaults()
    assert not read - explained_in_readme()
    # LLM_API_KEY is read by prefix, so defaults() does not find it
    assert not explained_in_readme() - families - OF_THE_TESTS - read - {"LLM_API_KEY"}


def test_the_readme_states_the_defaults() -> None:
    stated = {
        name: default
        for variables, default, *_ in readme_rows()
        for name in NAME.findall(variables)
    }
    wrong = {
        name: stated[name]
        for name, default in defaults().items()
        if default and not isinstance(default, bool) and name not in STATED_IN_WORDS
        if str(default).removesuffix(".0") not in re.split("[` ;]+", stated[name])
    }
    assert not wrong
