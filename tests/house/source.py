"""The project's own files, as the rules of the house look at them."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounts", "chatbots", "webhooks", "conversations")
PACKAGES = ("config", *APPS)


def ignored() -> tuple[str, ...]:
    """Names and patterns that git leaves out, read from where they are kept."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    return (".git", *(line.strip("/") for line in lines if line and not line.startswith("#")))


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Walk what belongs to the project; git itself is not needed, an unpacked archive will do."""
    patterns = ignored()
    for path in sorted(folder.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in patterns):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def modules(*packages: str) -> list[Path]:
    """Python files of the packages, migrations left out: those are generated."""
    found = (path for package in packages for path in files(ROOT / package))
    return [path for path in found if path.suffix == ".py" and "migrations" not in path.parts]


@cache
def tree(path: Path) -> ast.Module:
    """Parse a module, once for all rules."""
    return ast.parse(path.read_text(), filename=str(path))


def place(path: Path, node: ast.AST | None = None) -> str:
    """Say where something stands, as editors understand it."""
    return (
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if node
        else str(path.relative_to(ROOT))
    )
