"""Create the virtual environment and keep it in sync with the lock files of this folder.

    python3 requirements/install.py           install nothing, only test this interpreter
    python3 requirements/install.py base      install what the service needs
    python3 requirements/install.py dev       also install the tools for the tests and checks

This script runs before anything is installed, on any `python3`, so it uses only the standard
library and only syntax that an old Python can parse. Progress goes to standard error. If this
interpreter is unsuitable, the script prints only the reason to standard output and exits with
status 3, and the Makefile tries the next interpreter.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

UNSUITABLE = 3
NEEDED = ("venv", "ensurepip", "ssl", "sqlite3")
LOCKS = Path(__file__).resolve().parent
VENV = LOCKS.parent / ".venv"
PYTHON = VENV / "bin" / "python"
# Exists while packages are being installed. An environment that contains this file is incomplete.
UNFINISHED = VENV / "unfinished"
# Compiling everything in advance would cost 3 s and 45 MB. Compiling each module when it is first
# imported costs 1.5 s in all.
OPTIONS = ("--require-hashes", "--only-binary", ":all:", "--no-compile")


def lacking() -> str:
    """Return why this interpreter cannot run the service, or an empty string if it can."""
    version = "Python " + ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < (3, 11):  # noqa: UP036 - this file checks the version
        return version
    missing = []
    for name in NEEDED:
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    return version + ", without the module " + ", ".join(missing) if missing else ""


@contextmanager
def install_lock():
    """Keep other `make` processes in this checkout from installing at the same time."""
    path = LOCKS.parent / "build" / "install.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(*command, **options) -> subprocess.CompletedProcess:
    """Run a command whose arguments come only from this file."""
    return subprocess.run(command, **options)  # noqa: S603 - no outside input


def say(text: str) -> None:
    """Print progress to standard error."""
    sys.stderr.write(text + "\n")


def stamp(group: str) -> Path:
    """Return the path of a group's stamp: a file with the checksum of the installed lock file."""
    return VENV / f"installed-{group}"


def checksum(group: str) -> str:
    """Return the digest of a lock file's content; the file's date does not matter."""
    return hashlib.sha256((LOCKS / f"{group}.txt").read_bytes()).hexdigest()


def is_current(group: str) -> bool:
    """Return whether the environment was installed from the current lock file."""
    return stamp(group).exists() and stamp(group).read_text() == checksum(group)


def is_usable() -> bool:
    """Return whether the environment is complete, has pip, and matches this Python version."""
    if UNFINISHED.exists() or not PYTHON.exists():
        return False
    if Path(sys.prefix).resolve() == VENV:
        return find_spec("pip") is not None
    question = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    return run(PYTHON, "-c", question, stderr=subprocess.DEVNULL).returncode == 0


def install(group: str) -> None:
    """Install a lock file's packages, and write its stamp once all of them are installed."""
    if not is_usable():
        say(f"creating {VENV.name} with Python {sys.version.split()[0]}")
        shutil.rmtree(VENV, ignore_errors=True)
        # Not sys.executable, which may be in the environment that was just removed.
        run(sys._base_executable, "-m", "venv", VENV, check=True)
    UNFINISHED.touch()
    say(f"installing requirements/{group}.txt")
    lock = LOCKS / f"{group}.txt"
    pip = (PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    run(*pip, *OPTIONS, "-r", lock, check=True)
    stamp(group).write_text(checksum(group))
    UNFINISHED.unlink()


def main(group: str) -> None:
    """Install a group's lock files, unless they are already installed. "dev" includes "base"."""
    with install_lock():
        for each in ("base", "dev") if group == "dev" else ("base",):
            if not is_current(each) or not is_usable():
                install(each)


if __name__ == "__main__":
    if lacking():
        sys.stdout.write(lacking())
        sys.exit(UNSUITABLE)
    try:
        if sys.argv[1:]:
            main(sys.argv[1])
    except subprocess.CalledProcessError as failure:
        sys.exit(f"{failure.cmd[2]} failed (see above); installing packages needs network access")
    except KeyboardInterrupt:
        sys.exit(130)
