"""Make the virtual environment and keep it equal to the lock files of this folder.

    python3 requirements/install.py           nothing, if this interpreter will do
    python3 requirements/install.py base      what the service needs
    python3 requirements/install.py dev       that, and the tools of the tests and checks

It runs before anything is installed, on whatever `python3` there is: standard library only, and
nothing that an old Python cannot read. Progress goes to standard error; on standard output stands
only why this interpreter will not do (exit status 3), so that the Makefile can try the next one.
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
# Stands while packages are being installed. An environment that still has it was left half made.
UNFINISHED = VENV / "unfinished"
# Compiling everything ahead costs 3 s and 45 MB; compiling at the first import costs 1.5 s, once.
OPTIONS = ("--require-hashes", "--only-binary", ":all:", "--no-compile")


def lacking() -> str:
    """Say why this interpreter cannot run the service, or return an empty text."""
    version = "Python " + ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < (3, 11):  # noqa: UP036 - this file is what finds that out
        return version
    missing = []
    for name in NEEDED:
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    return version + ", without the module " + ", ".join(missing) if missing else ""


@contextmanager
def alone():
    """Wait until no other `make` of this tree installs."""
    path = LOCKS.parent / "build" / "install.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(*command, **options) -> subprocess.CompletedProcess:
    """Run one of this file's own commands."""
    return subprocess.run(command, **options)  # noqa: S603 - no outside input


def say(text: str) -> None:
    """Tell the person who waits what is being done."""
    sys.stderr.write(text + "\n")


def stamp(group: str) -> Path:
    """Name the file that holds the checksum of the lock file last installed."""
    return VENV / f"installed-{group}"


def checksum(group: str) -> str:
    """Digest a lock file: its content counts, not its date."""
    return hashlib.sha256((LOCKS / f"{group}.txt").read_bytes()).hexdigest()


def is_current(group: str) -> bool:
    """Tell whether the environment holds what the lock file asks for."""
    return stamp(group).exists() and stamp(group).read_text() == checksum(group)


def is_usable() -> bool:
    """Tell whether the environment is whole, has pip, and is of this interpreter's version."""
    if UNFINISHED.exists() or not PYTHON.exists():
        return False
    if Path(sys.prefix).resolve() == VENV:
        return find_spec("pip") is not None
    question = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    return run(PYTHON, "-c", question, stderr=subprocess.DEVNULL).returncode == 0


def install(group: str) -> None:
    """Bring the environment to the lock file; the stamp comes last, and only to a whole one."""
    if not is_usable():
        say(f"making {VENV.name} with Python {sys.version.split()[0]}")
        shutil.rmtree(VENV, ignore_errors=True)
        # Not sys.executable: that may be the environment that was just removed.
        run(sys._base_executable, "-m", "venv", VENV, check=True)
    UNFINISHED.touch()
    say(f"installing requirements/{group}.txt")
    lock = LOCKS / f"{group}.txt"
    pip = (PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    run(*pip, *OPTIONS, "-r", lock, check=True)
    stamp(group).write_text(checksum(group))
    UNFINISHED.unlink()


def main(group: str) -> None:
    """Install what a group needs and the environment lacks: "dev" comes on top of "base"."""
    with alone():
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
        sys.exit(
            f"{failure.cmd[2]} failed, see above; the first start needs a network for its packages"
        )
    except KeyboardInterrupt:
        sys.exit(130)
