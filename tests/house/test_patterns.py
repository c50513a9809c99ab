"""Every regular expression in the product handles any input in linear time."""

import ast
import gc
import heapq
import importlib
import itertools
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.house.source import PACKAGES, ROOT, modules, place, tree

pytestmark = pytest.mark.slow

METHODS = {"match", "search", "fullmatch", "findall", "finditer", "sub", "split"}
FULL = 64 * 1024
# Text lengths. The shortest is tried first, because some patterns take exponential time.
SMALL = (16, 22, 28, 256)
LARGE, SLOWEST = 4096, 64
SUSPECT, TOO_LONG = 0.01, 0.5  # seconds of CPU time

COMMON = " \n\t\0a0A_-.,:;/\"'!é"
ENDS = ("", "\0", "!", "\n")

Use = Callable[[str], object]


def use_of(pattern: re.Pattern[str], method: str) -> Use:
    """Return a function that calls a pattern's method on a string and consumes all results."""
    if method == "sub":
        return lambda text: pattern.sub("", text)
    if method == "finditer":
        return lambda text: deque(pattern.finditer(text), maxlen=0)
    call: Use = getattr(pattern, method)
    return call


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """Generate attacks: strings that a pattern may be very slow to match.

    Each attack has a beginning, a part that is repeated, and an end. Most attacks use characters or
    words from the pattern itself.
    """
    words = dict.fromkeys(re.findall(r"[A-Za-z/:=<>-]{2,}", pattern.pattern))
    signs = dict.fromkeys(COMMON + "".join(re.findall(r"[^\w\s\\]", pattern.pattern)))
    yield from itertools.product(["", *words], [*signs, *words], ENDS)
    yield from itertools.product([""], map("".join, itertools.permutations(signs, 2)), ["", "\0"])


def seconds(use: Use, text: str) -> float:
    """Measure the CPU time of one call while garbage collection is switched off."""
    gc.disable()
    try:
        began = time.thread_time()
        use(text)
        return time.thread_time() - began
    finally:
        gc.enable()


def worst(pattern: re.Pattern[str], method: str) -> tuple[float, str]:
    """Return the time that the slowest attack takes with 64 KiB of text, and the attack itself.

    All attacks are tried with short texts. The slowest ones are then tried with longer texts. If an
    attack is slow with any of these texts, stop and extrapolate its time for 64 KiB. Even with 256
    characters, quadratic time is about a hundred times linear time, so it is easy to detect.
    """
    use, taken = use_of(pattern, method), dict[tuple[str, str, str], float]()
    for attack in attacks(pattern):
        for size in SMALL:
            taken[attack] = seconds(use, text_of(attack, size))
            if is_suspect(use, attack, size, taken[attack]):
                return taken[attack] * (FULL / size) ** 2, repr(attack)
    for attack in heapq.nlargest(SLOWEST, taken, key=lambda one: taken[one]):
        taken[attack] = seconds(use, text_of(attack, LARGE))
        if is_suspect(use, attack, LARGE, taken[attack]):
            return taken[attack] * (FULL / LARGE) ** 2, repr(attack)
    slowest = max(taken, key=lambda one: taken[one])
    return seconds(use, text_of(slowest, FULL)), repr(slowest)


def text_of(attack: tuple[str, str, str], size: int) -> str:
    start, part, end = attack
    return start + part * (size // len(part)) + end


def is_suspect(use: Use, attack: tuple[str, str, str], size: int, taken: float) -> bool:
    """Return whether an attack is slow twice in a row. A single slow run may be due to chance."""
    return taken > SUSPECT and seconds(use, text_of(attack, size)) > SUSPECT


def methods_used(name: str, file: ast.Module) -> list[str]:
    """Return the methods that a file calls on a named pattern. Assume `search` if it calls none."""
    used = {
        node.attr
        for node in ast.walk(file)
        if isinstance(node, ast.Attribute)
        and node.attr in METHODS
        and ast.unparse(node.value).split(".")[-1] == name
    }
    return sorted(used) or ["search"]


def patterns(path: Path) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yield the location, pattern and method of each use of a regular expression in a file."""
    if not re.search(r"\bre\.|RegexValidator", path.read_text()):
        return
    file = tree(path)
    names = {
        id(node.value): ast.unparse(node.targets[0])
        for node in ast.walk(file)
        if isinstance(node, ast.Assign)
    }
    calls = [node for node in ast.walk(file) if isinstance(node, ast.Call)]
    for call in calls:
        module, _, function = ast.unparse(call.func).rpartition(".")
        if module == "re" and function == "compile":
            pattern, methods = value(path, call), methods_used(names[id(call)], file)
        elif module == "re" and function in METHODS:
            pattern, methods = re.compile(value(path, call.args[0])), [function]
        elif function == "RegexValidator":
            pattern, methods = re.compile(value(path, call.args[0])), ["search"]
        else:
            continue
        for method in methods:
            yield place(path, call), pattern, method


def value(path: Path, node: ast.expr) -> Any:
    """Import the module at a path, and evaluate an expression in its namespace."""
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return eval(ast.unparse(node), vars(module))


FOUND = [
    pytest.param(pattern, method, id=f"{where} {method}")
    for path in modules(*PACKAGES)
    for where, pattern, method in patterns(path)
]


@pytest.mark.parametrize(("pattern", "method"), FOUND)
def test_a_pattern_needs_little_time_for_the_worst_64_kib(
    pattern: re.Pattern[str], method: str
) -> None:
    taken, attack = worst(pattern, method)
    assert taken < TOO_LONG, f"{pattern.pattern!r} is slow for {attack}"


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(?<=[.!?])\s+|\s*\n\s*", "split"),
        (r"\s+$", "search"),
        (r"(a+)+$", "match"),
        (r"<p>.*?</p>", "findall"),
        (r"(.*,)*x", "fullmatch"),
    ],
)
def test_a_pattern_of_more_than_linear_time_is_found(pattern: str, method: str) -> None:
    assert worst(re.compile(pattern), method)[0] > TOO_LONG
