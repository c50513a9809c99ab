"""Keep an installation's secrets and database in a folder that only its owner can access."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def make_private(folder: Path) -> None:
    """Create the state folder, and deny other users access to it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # On some container platforms, the folder belongs to another user, so its mode cannot be
    # changed. Even then, the files that we create are private. SQLite may remove its files.
    with suppress(PermissionError, FileNotFoundError):
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
            for file in folder.glob("*.sqlite3*"):
                file.chmod(0o600)


def kept_secret(
    folder: Path, name: str, make: Callable[[], str], *, check: Callable[[str], object] = str
) -> str:
    """Read a secret from a file in the state folder. The file is created on first use.

    Two processes that start at the same time agree on one value, because the complete file is
    linked into place atomically. Raises OSError if the file cannot be used, and ValueError if
    it is empty, is not text, or is rejected by `check`.
    """
    path = folder / name
    if not path.exists():
        make_private(folder)
        draft = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(make())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    try:
        secret = path.read_text().strip()
        check(secret)
    except ValueError:
        secret = ""
    if not secret:
        raise ValueError(f"{path} is damaged: restore it from a backup")
    return secret
