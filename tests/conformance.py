"""Write docs/conformance.md: each rule of the specification with the tests that prove it.

    python -m tests.conformance            write the page
    python -m tests.conformance --check    fail if a rule has no test or the page is out of date

The page also lists the service's choices: what it does where the specification leaves something
open. The rules come from docs/specification-index.toml, and the choices from the tables in
docs/open-points.md (the ledger). The tests are not run: their source files are searched for
markers. A marker on a test's module, class or function names what the test proves. If a marker
names a heading that has rules, the test's file is listed under the heading, but the test does not
count as proof of any of its rules.
"""

import argparse
import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKER = "proves"
ROW = re.compile(r"^\| (?P<id>[a-z-]+) \| (?P<open>.+?) \| (?P<does>.+) \| (?P<where>.+?) \|$")
PLACE = re.compile(r"`([\w./-]+\.\w+)` `([\w.]+)`")
CHOICES = "## Additions"  # in the ledger, the heading that follows the tables of choices


@dataclass(frozen=True)
class Choice:
    """An open point, what the service does about it, and the places in the code that decide it."""

    id: str
    does: str
    places: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Rule:
    """A rule under a heading. A heading without rules gets a single rule with the same name."""

    id: str
    text: str
    open: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heading:
    """A heading of the specification, with its rules and the open points that it refers to."""

    name: str
    rules: tuple[Rule, ...]
    open: tuple[str, ...]


@dataclass(frozen=True)
class Proof:
    """A test and the rules that it proves."""

    test: str
    rules: frozenset[str] = field(default_factory=frozenset)


def read_index(path: Path) -> tuple[Heading, ...]:
    """Read the headings and their rules."""
    made = []
    for given in tomllib.loads(path.read_text())["heading"]:
        name, more = given["name"], given.get("rule-open", {})
        rules = tuple(
            Rule(f"{name}/{key}", text, tuple(more.get(key, ())))
            for key, text in given.get("rules", {}).items()
        )
        made.append(Heading(name, rules or (Rule(name, "as documented"),), tuple(given["open"])))
    return tuple(made)


def read_ledger(path: Path) -> dict[str, Choice]:
    """Read the open points, and return them keyed by id."""
    table, _, _ = path.read_text().partition(CHOICES)
    found = (match for line in table.splitlines() if (match := ROW.match(line)))
    return {
        row["id"]: Choice(row["id"], row["does"], tuple(PLACE.findall(row["where"])))
        for row in found
        if row["id"] != "id"
    }


def collect(folder: Path) -> Iterator[Proof]:
    """Find all tests below a folder. Yields each test with the rules that it proves."""
    for path in sorted(folder.rglob("test_*.py")):
        module = ast.parse(path.read_text(), filename=str(path))
        known = {name: _named([value]) for name, value in _assignments(module)}
        of_module = known.get("pytestmark", frozenset())
        for test, rules in _tests(module.body, known, of_module):
            yield Proof(f"{path.relative_to(folder.parent)}::{test}", rules)


def _assignments(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _tests(
    body: Iterable[ast.stmt], known: dict[str, frozenset[str]], above: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        own = above | _named(node.decorator_list)
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Name):
                own |= known.get(decorator.id, frozenset())
        if isinstance(node, ast.ClassDef):
            for test, rules in _tests(node.body, known, own):
                yield f"{node.name}::{test}", rules
        elif node.name.startswith("test_"):
            yield node.name, own


def _named(expressions: Iterable[ast.expr]) -> frozenset[str]:
    """Collect the strings passed to the marker. Its calls may be nested in other expressions."""
    return frozenset(
        argument.value
        for expression in expressions
        for call in ast.walk(expression)
        if isinstance(call, ast.Call)
        and isinstance(call.func, (ast.Attribute, ast.Name))
        and (call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id) == MARKER
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )


def faults(
    headings: tuple[Heading, ...], ledger: dict[str, Choice], proofs: list[Proof]
) -> Iterator[str]:
    """List the mismatches between rules, tests and open points."""
    rules = {rule.id for heading in headings for rule in heading.rules}
    proved = {name for proof in proofs for name in proof.rules}
    for rule in sorted(rules - proved):
        yield f"no test proves {rule!r}"
    for proof in proofs:
        for name in sorted(proof.rules - rules - {heading.name for heading in headings}):
            yield f"{proof.test} proves {name!r}, which is neither a heading nor a rule"
    used = {point for heading in headings for point in heading.open}
    used |= {point for heading in headings for rule in heading.rules for point in rule.open}
    for point in sorted(used - set(ledger)):
        yield f"the index names {point!r}, which is not an open point"
    for point in sorted(set(ledger) - used):
        yield f"no heading names the open point {point!r}"


def page(headings: tuple[Heading, ...], ledger: dict[str, Choice], proofs: list[Proof]) -> str:
    """Return the text of the page: each heading's rules, their tests, and the service's choices."""
    lines = [
        "# Conformance",
        "",
        "Written by `make conformance`: each rule of the specification, the tests that prove it,",
        "and the service's choices where a rule is open ([open-points.md](open-points.md)).",
    ]
    for heading in headings:
        lines += ["", f"## {heading.name}", ""]
        for rule in heading.rules:
            short = rule.id.removeprefix(f"{heading.name}/")
            lines.append(f"- **{short}**: {rule.text}")
            lines += [f"  - `{test}`" for test in _proving(rule.id, proofs)]
        general = {test.partition("::")[0] for test in _proving(heading.name, proofs)}
        if general and heading.rules[0].id != heading.name:
            lines.append(f"- in general: {', '.join(f'`{file}`' for file in sorted(general))}")
        points = [*heading.open, *(point for rule in heading.rules for point in rule.open)]
        if points:
            lines += ["", "| open point | the service does | decided in |", "|---|---|---|"]
        for choice in (ledger[point] for point in points if point in ledger):
            where = ", ".join(f"`{file}` `{name}`" for file, name in choice.places)
            lines.append(f"| {choice.id} | {choice.does} | {where} |")
    return "\n".join([*lines, ""])


def _proving(name: str, proofs: list[Proof]) -> list[str]:
    return sorted(proof.test for proof in proofs if name in proof.rules)


def main(arguments: list[str] | None = None, *, root: Path = ROOT) -> None:
    """Write the page, or check that it is up to date. Raises SystemExit if anything is wrong."""
    parser = argparse.ArgumentParser(description="Write docs/conformance.md.")
    parser.add_argument(
        "--check", action="store_true", help="compare the page instead of writing it"
    )
    docs = root / "docs"
    headings = read_index(docs / "specification-index.toml")
    ledger = read_ledger(docs / "open-points.md")
    proofs = list(collect(root / "tests"))
    if found := list(faults(headings, ledger, proofs)):
        raise SystemExit("\n".join(["the tests and the rules do not match:", *found]))
    path, text = docs / "conformance.md", page(headings, ledger, proofs)
    if not parser.parse_args(arguments).check:
        path.write_text(text)
    elif not path.is_file() or path.read_text() != text:
        raise SystemExit("docs/conformance.md is out of date: run `make conformance`")


if __name__ == "__main__":
    main()
