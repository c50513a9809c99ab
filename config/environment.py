"""Read our own kinds of value from the environment: rates, delays, networks, kept secrets."""

import ipaddress
import os
import re
import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from dotenv import load_dotenv
from environs import Env, EnvError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Rate = tuple[int, int]

UNITS = {"s": 1, "m": 60, "h": 3600}
LONGEST = 31_536_000  # seconds: a year


def rate(text: str) -> Rate | None:
    """Read `count/window` ("500/60s", "100/s"), or None for "off".

    Returns (count, seconds). Raises EnvError.
    """
    if text.strip().lower() == "off":
        return None
    match = re.fullmatch(r"([1-9]\d{0,8})/(\d{0,6})([smh])", text.strip())
    if not match or match[2] == "0":
        raise EnvError('expected count/window such as "500/60s", or "off"')
    return int(match[1]), int(match[2] or 1) * UNITS[match[3]]


def delays(text: str) -> tuple[float, ...]:
    """Read comma-separated seconds ("1,5,25"). Raises EnvError."""
    try:
        seconds = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise EnvError('expected seconds separated by commas, such as "1,5,25"') from error
    if any(not 0 <= second < 86_400 for second in seconds):
        raise EnvError("each delay must lie between 0 and 86400 seconds")
    return seconds


def period(text: str) -> timedelta | None:
    """Read a length of time in seconds ("3600"), or None for "off". Raises EnvError."""
    if text.strip().lower() == "off":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= LONGEST:
        raise EnvError(f'expected seconds, more than 0 and at most {LONGEST}, or "off"')
    return timedelta(seconds=seconds)


def networks(text: str) -> tuple[Network, ...]:
    """Read comma-separated networks in CIDR form, or single addresses. Raises EnvError."""
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise EnvError(f"expected networks such as 10.0.0.0/8: {error}") from error


def fernet_keys(text: str) -> tuple[str, ...]:
    """Read comma-separated Fernet keys, newest first. Raises EnvError without quoting a key."""
    keys = tuple(part.strip() for part in text.split(",") if part.strip())
    for position, key in enumerate(keys, start=1):
        try:
            Fernet(key)
        except ValueError:
            raise EnvError(
                f"key {position} is not a Fernet key (32 bytes, URL-safe base64)"
            ) from None
    return keys


def web_address(text: str) -> str:
    """Read an http or https address without a trailing slash. Raises EnvError."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise EnvError("expected an address such as https://bots.example.com")
    return text.rstrip("/")


def readable_file(text: str) -> str:
    """Read the path of a file that is there; an empty one is none. Raises EnvError."""
    if text and not os.access(text, os.R_OK):
        raise EnvError(f"there is no readable file {text}")
    return text


def parser(read: Callable[[str], Any]) -> Callable[..., Any]:
    """Turn a reader of text into an environs parser method; defaults are text, too."""

    def method(value: Any, **_: Any) -> Any:
        return read(value) if isinstance(value, str) else value

    return method


def environment(dotenv: Path) -> Env:
    """Make the reader of the environment, with `.env` beneath the real variables.

    What the file says joins the environment: the keys of models are found there by their names.
    """
    load_dotenv(dotenv)
    env = Env(eager=False)
    for read in (rate, delays, period, networks, fernet_keys, web_address, readable_file):
        env.add_parser(read.__name__, parser(read))
    return env


def kept_secret(folder: Path, name: str, make: Callable[[], str]) -> str:
    """Read a secret kept in a file of the state folder, made at its first use.

    Two processes that start at once agree on one value: the file is linked into place.
    """
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(make())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
