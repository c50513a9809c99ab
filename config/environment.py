"""Parsers for environment variables: rates, delays, networks, URLs and keys.

Each parser raises EnvError for an invalid value.
"""

import ipaddress
import re
import ssl
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import dj_database_url
import dj_email_url
import psycopg
from cryptography.fernet import Fernet
from dotenv import load_dotenv
from dotenv.parser import parse_stream
from environs import Env, EnvError
from environs.exceptions import EnvValidationError
from psycopg.conninfo import make_conninfo

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Rate = tuple[int, int]
Faults = dict[str, list[str]]  # error messages by variable
Parse = TypeVar("Parse", bound=Callable[[str], Any])

UNITS = {"s": 1, "m": 60, "h": 3600}
LONGEST = 31_536_000  # seconds; one year
HOST_NAME = re.compile(r"(?!-)[0-9A-Za-z_-]{1,63}(\.[0-9A-Za-z_-]{1,63})*\.?")
# Options in a database URL that are meant for Django instead of PostgreSQL
OF_DJANGO = {"assume_role", "isolation_level", "pool", "server_side_binding"}
READERS: dict[str, Callable[[str], Any]] = {}  # the decorated parsers by name


def expects(form: str) -> Callable[[Parse], Parse]:
    """Decorate a parser: for an invalid value, it raises EnvError with the expected form.

    The error does not quote the value, which may contain a secret.
    """

    def decorate(parse: Parse) -> Parse:
        @wraps(parse)
        def parsed(text: str) -> Any:
            try:
                return parse(text)
            except (OSError, ValueError, psycopg.Error):
                raise EnvError(f"expected {form}") from None

        READERS[parse.__name__] = parsed
        return parsed  # type: ignore[return-value]  # has the parser's signature

    return decorate


def require(valid: object) -> None:
    """Raise ValueError unless the condition holds."""
    if not valid:
        raise ValueError


def parts_of(text: str) -> list[str]:
    """Split a comma-separated list. Empty parts are ignored."""
    return [part.strip() for part in text.split(",") if part.strip()]


@expects('count/window such as "500/60s", or "off"')
def rate(text: str) -> Rate | None:
    """Parse `count/window` ("500/60s", "100/s") into (count, seconds), and "off" into None."""
    if text.strip().lower() == "off":
        return None
    match = re.fullmatch(r"([1-9]\d{0,8})/(\d{0,6})([smh])", text.strip())
    if not match or int(match[2] or 1) == 0:
        raise ValueError
    return int(match[1]), int(match[2] or 1) * UNITS[match[3]]


@expects('seconds below 86400 separated by commas, such as "1,5,25"')
def delays(text: str) -> tuple[float, ...]:
    """Parse comma-separated seconds ("1,5,25")."""
    seconds = tuple(float(part) for part in parts_of(text))
    require(all(0 <= second < 86_400 for second in seconds))
    return seconds


@expects(f'a number of seconds above 0 and at most {LONGEST}, or "off"')
def period(text: str) -> timedelta | None:
    """Parse a duration in seconds ("3600"). Returns None for "off"."""
    if text.strip().lower() == "off":
        return None
    seconds = float(text)
    require(0 < seconds <= LONGEST)
    return timedelta(seconds=seconds)


@expects("networks such as 10.0.0.0/8, without host bits")
def networks(text: str) -> tuple[Network, ...]:
    """Parse comma-separated IP addresses and networks in CIDR notation."""
    return tuple(ipaddress.ip_network(part) for part in parts_of(text))


@expects("Fernet keys (32 bytes, URL-safe base64)")
def fernet_keys(text: str) -> tuple[str, ...]:
    """Parse comma-separated Fernet keys, newest first."""
    keys = tuple(parts_of(text))
    for key in keys:
        Fernet(key)
    return keys


@expects("an IP address such as 127.0.0.1, or localhost")
def host(text: str) -> str:
    """Check the address that the web server listens on, which accepts no zone or other name."""
    address = "127.0.0.1" if text.lower() == "localhost" else text
    require(is_address(address) and "%" not in address)
    return address


@expects("hosts such as bots.example.com, without a scheme or port, or IPv6 addresses in brackets")
def allowed_hosts(text: str) -> list[str]:
    """Parse comma-separated hosts in the format of ALLOWED_HOSTS."""
    names = parts_of(text)
    for name in names:
        bracketed = name.startswith("[") and name.endswith("]") and is_address(name[1:-1])
        require(bracketed or name == "*" or HOST_NAME.fullmatch(name.removeprefix(".")))
    return names


def is_address(text: str) -> bool:
    """Return whether a string is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@expects("a URL such as https://bots.example.com, without a user name or query")
def web_url(text: str) -> str:
    """Check an http or https URL. Returns it with a lower-case scheme and no trailing slash.

    An empty string is allowed.
    """
    parts = urlsplit(text)
    name = parts.hostname or ""
    if text:
        require(parts.scheme in ("http", "https") and not re.search(r"[\s?#@]", text))
        require(parts.port != 0 and (is_address(name) or HOST_NAME.fullmatch(name)))
    return parts.geturl().rstrip("/")


@expects("a URL without a path, such as https://bots.example.com")
def public_url(text: str) -> str:
    """Check the service's own URL. An empty string is allowed.

    Returns the URL as browsers write it in the Origin header: in lower case and without a default
    port. The URL must not have a path, because the pages' links are absolute paths.
    """
    parts = urlsplit(web_url(text))
    require(not parts.path)
    default = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return parts._replace(netloc=parts.netloc.lower().removesuffix(default)).geturl()


@expects("postgresql://user:password@host:port/name")
def database_url(text: str) -> str:
    """Check the URL of a PostgreSQL database. An empty string is allowed."""
    if text:
        found = dj_database_url.parse(text)
        options = found.get("OPTIONS", {})
        make_conninfo(**{name: options[name] for name in options if name not in OF_DJANGO})
        require(urlsplit(text).scheme in ("postgres", "postgresql") and found["NAME"])
    return text


@expects("redis://user:password@host:port/number, or rediss:// for TLS")
def redis_url(text: str) -> str:
    """Check the URL of a Redis database. An empty string is allowed.

    Returns the URL with its scheme in lower case, because the Redis client accepts no other.
    """
    parts = urlsplit(text)
    if text:
        require(parts.scheme in ("redis", "rediss") and parts.hostname and parts.port != 0)
        require(re.fullmatch(r"\d{0,4}", unquote(parts.path).strip("/")))
    return parts.geturl()


@expects(
    "console:, file:/directory, smtp://user:password@host:port/?tls=True "
    "or submission://user:password@host"
)
def email_url(text: str) -> dict[str, Any]:
    """Parse the URL of an email transport into Django's settings."""
    found: dict[str, Any] = dj_email_url.parse(text)
    kind = found.get("EMAIL_BACKEND", "").rpartition(".")[0].rpartition(".")[2]
    lacking = {"smtp": "EMAIL_HOST", "filebased": "EMAIL_FILE_PATH"}.get(kind)
    require(kind and (not lacking or found[lacking]))
    return found


@expects("the path of a file with certificates")
def certificates(text: str) -> str:
    """Check the path of a certificate file. An empty string is allowed."""
    ssl.create_default_context(cafile=text or None)
    return text


def environment(dotenv: Path) -> tuple[Env, Faults]:
    """Create a reader of environment variables, which take precedence over those in `.env`.

    The file's variables are added to the process's environment, because the settings search the
    environment for the models' API keys. Invalid lines are skipped. Returns the reader and the
    errors in the file.
    """
    lines, faults = read_lines(dotenv)
    load_dotenv(stream=StringIO(lines))
    env = Env(eager=False)
    for name, read in READERS.items():
        env.add_parser(name, lambda value, read=read, **_: read(value))
    return env, faults


def read_lines(dotenv: Path) -> tuple[str, Faults]:
    """Return the file's valid lines and its errors.

    Each error names the file and, if it concerns a single line, the line number. Errors do not
    quote the line, because it may contain a secret.
    """
    try:
        text = dotenv.read_text()
    except FileNotFoundError:
        return "", {}
    except (OSError, UnicodeDecodeError) as error:
        return "", {dotenv.name: [f"cannot be read: {getattr(error, 'strerror', 'not UTF-8')}"]}
    right, faults = "", {}
    for one in parse_stream(StringIO(text)):
        given = one.original.string
        if one.error or (one.key and one.value is None):
            blank = given[: len(given) - len(given.lstrip())].count("\n")  # lines before it
            line = one.original.line + blank
            faults[f"{dotenv.name} line {line}"] = ["expected NAME=value"]
        else:
            right += given
    return right, faults


def header_values(names: dict[str, str]) -> Faults:
    """Report variables whose values are not valid in an HTTP header. Does not quote the values."""
    return {
        name: ["must be visible ASCII characters without spaces"]
        for name, value in names.items()
        if not re.fullmatch(r"[!-~]*", value)
    }


def refuse(env: Env, faults: Faults) -> None:
    """Exit with a list of all errors if the environment is invalid. Raises SystemExit."""
    try:
        env.seal()
    except EnvValidationError as error:
        assert isinstance(error.error_messages, dict)
        faults = {**faults, **error.error_messages}
    if faults:
        raise refusal(faults)


def refusal(faults: Faults) -> SystemExit:
    """Build a SystemExit whose message lists all errors."""
    lines = [f"  {name}: {'; '.join(map(str, texts))}" for name, texts in faults.items()]
    return SystemExit("\n".join(["The environment is not valid:", *lines]))
