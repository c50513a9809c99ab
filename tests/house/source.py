"""Find and parse the project's files, so that the tests in this folder can check house rules."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounts", "chatbots", "webhooks", "conversations")
PACKAGES = ("config", *APPS)


def ignored() -> tuple[str, ...]:
    """Return the names and patterns that git ignores, read from .gitignore."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    return (".git", *(line.strip("/") for line in lines if line and not line.startswith("#")))


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Yield the project's files. This works without git, for example in an unpacked archive."""
    patterns = ignored()
    for path in sorted(folder.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in patterns):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def modules(*packages: str) -> list[Path]:
    """List the Python files of the packages, except migrations, which are generated."""
    found = (path for package in packages for path in files(ROOT / package))
    return [path for path in found if path.suffix == ".py" and "migrations" not in path.parts]


@cache
def tree(path: Path) -> ast.Module:
    """Parse a module, and cache the result for all rules."""
    return ast.parse(path.read_text(), filename=str(path))


def place(path: Path, node: ast.AST | None = None) -> str:
    """Return a location that editors recognize: `path` for a file, or `path:line` for a node."""
    return (
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if node
        else str(path.relative_to(ROOT))
    )
