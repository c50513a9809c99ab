"""The parsers for each type of setting, and how `.env` is read."""

import os
from base64 import urlsafe_b64encode
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from environs import EnvError

from config import environment

KEYS = [urlsafe_b64encode(bytes([byte] * 32)).decode() for byte in (1, 2)]
HOSTS = ["a.example.com", ".example.com", "*", "127.0.0.1", "[::1]"]
VALID: dict[str, dict[str, Any]] = {
    "rate": {
        "100/1s": (100, 1),
        "500/60s": (500, 60),
        "500/s": (500, 1),
        "5/m": (5, 60),
        "5/2m": (5, 120),
        " 7/1h ": (7, 3600),
        "off": None,
        "OFF": None,
    },
    "delays": {"1,5,25": (1, 5, 25), "0.1, 0.2": (0.1, 0.2), "0": (0,), "": (), "3,": (3,)},
    "period": {
        "3600": timedelta(hours=1),
        "0.5": timedelta(milliseconds=500),
        " OFF ": None,
        "31536000": timedelta(days=365),
    },
    "networks": {
        "10.0.0.0/8, ::1": (ip_network("10.0.0.0/8"), ip_network("::1/128")),
        "192.0.2.7": (ip_network("192.0.2.7/32"),),
        "": (),
    },
    "fernet_keys": {" , ".join(KEYS): tuple(KEYS)},
    "host": {
        **{text: text for text in ("127.0.0.1", "::1", "0.0.0.0", "::")},
        "localhost": "127.0.0.1",
        "LOCALHOST": "127.0.0.1",
    },
    "allowed_hosts": {",".join([*HOSTS, ""]): HOSTS},
    "web_url": {
        "https://bots.example.com": "https://bots.example.com",
        "http://127.0.0.1:8000/": "http://127.0.0.1:8000",
        "HTTPS://example.com/Bots/": "https://example.com/Bots",
        "": "",
    },
    "public_url": {
        "https://bots.example.com/": "https://bots.example.com",
        "HTTPS://Bots.Example.com:443": "https://bots.example.com",
        "http://bots.example.com:80": "http://bots.example.com",
        "https://bots.example.com:80": "https://bots.example.com:80",
        "http://[::1]:8000": "http://[::1]:8000",
        "": "",
    },
    "database_url": {
        text: text
        for text in (
            *("", "postgresql://u:p@h:5432/name", "postgres://h/name?sslmode=require"),
            *("postgresql:///name?host=/run/postgresql", "postgresql://u:p%40@h/name"),
        )
    },
    "redis_url": {
        **{text: text for text in ("", "redis://x", "redis://[::1]:6379/0")},
        "REDISS://u:P@h:6380/2": "rediss://u:P@h:6380/2",
    },
}
INVALID = {
    "rate": (
        'expected count/window such as "500/60s", or "off"',
        *("", "5", "5/", "/s", "0/s", "5/0s", "-5/s", "5/1d", "5/1.5s", "x/s", "5 / s", "on"),
    ),
    "delays": ("expected seconds", *("x", "1;2", "-1", "86400", "nan", "inf", "1,,x")),
    "period": (
        "expected a number of seconds",
        *("", "x", "0", "-1", "31536001", "nan", "inf", "1h", "1,5"),
    ),
    "networks": (
        "expected networks such as",
        *("10.0.0.1/8", "nonsense", "10.0.0.0/33", "*", "localhost"),
    ),
    "fernet_keys": (
        "expected Fernet keys",
        *(f"{KEYS[0]},{wrong}" for wrong in ("canary", "canary" * 8, "canaryü" * 6)),
    ),
    "host": (
        "expected an IP address such as",
        *("", "a b", "http://x", "127.0.0.1:80", "[::1]", "web-1.internal", "fe80::1%eth0"),
    ),
    "allowed_hosts": (
        "expected hosts such as",
        *("http://x", "localhost,x:80", "::1", "a/b", "*.example.com", "a b", "[x]"),
    ),
    "web_url": (
        "expected a URL such as",
        *("bots.example.com", "ftp://x", "https://", "https://x/?a=b", "https://x/#a"),
        *("https://u:canary@x", "https://x:0", "https://x:99999", "https://[::1", "https://a b"),
    ),
    "public_url": ("expected a URL without a path", "https://example.com/bots/"),
    "database_url": (
        "expected postgresql://",
        *("canary", "sqlite:///canary", "postgresql://u:canary@h", "postgresql://u:canary@h:x/n"),
        *("postgresql://u:canary@h/n?color=red", "postgresql://u:canary@[h/n"),
    ),
    "redis_url": (
        "expected redis://",
        *("canary", "http://canary", "redis://", "redis://:canary@h:x", "redis://h/canary"),
    ),
    "email_url": (
        "expected console:",
        *("", "nonsense", "canary://h", "smtp://u:canary@h:x", "submission:", "file:"),
        "smtp://u:canary@h/?timeout=soon",
    ),
}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [(kind, text, value) for kind, texts in VALID.items() for text, value in texts.items()],
)
def test_a_valid_value_is_read(kind: str, text: str, value: Any) -> None:
    assert getattr(environment, kind)(text) == value


@pytest.mark.parametrize(
    ("kind", "message", "text"),
    [(kind, message, text) for kind, (message, *texts) in INVALID.items() for text in texts],
)
def test_an_invalid_value_is_refused_without_quoting_a_secret(
    kind: str, message: str, text: str
) -> None:
    with pytest.raises(EnvError) as refusal:
        getattr(environment, kind)(text)
    assert message in str(refusal.value)
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        *(("console:", "console"), ("dummy:", "dummy"), ("file:/tmp/mails", "filebased")),
        *(("smtp://u:p@h:587/?tls=True", "smtp"), ("submission://u:p@h", "smtp")),
    ],
)
def test_the_email_url_selects_the_mail_backend(text: str, backend: str) -> None:
    assert environment.email_url(text)["EMAIL_BACKEND"].split(".")[-2] == backend


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the process's environment with a copy that the test may change."""
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_the_real_environment_takes_precedence_over_the_file(
    tmp_path: Path, untouched: None
) -> None:
    (tmp_path / ".env").write_text("LLM_API_KEY_FILE=file\nIN_BOTH=file\n")
    os.environ["IN_BOTH"] = "environment"
    env, faults = environment.environment(tmp_path / ".env")
    assert not faults
    assert (env.str("LLM_API_KEY_FILE"), env.str("IN_BOTH")) == ("file", "environment")
    assert os.environ["LLM_API_KEY_FILE"] == "file"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("A=1\n# words\n\nexport B='two words'\nC=\n", []),
        ("A=1\n\n\nno variable\nB=2\n", [4]),
        ("A='never closed\nB=2\n", [1]),
        ("A=1\n\nB\n", [3]),
    ],
)
def test_invalid_lines_of_the_file_are_named(tmp_path: Path, text: str, lines: list[int]) -> None:
    (tmp_path / ".env").write_text(text)
    _, faults = environment.read_lines(tmp_path / ".env")
    assert list(faults) == [f".env line {n}" for n in lines]


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    assert environment.read_lines(tmp_path / ".env") == ("", {})
    (tmp_path / ".env").write_bytes(b"A=\xff\n")
    _, faults = environment.read_lines(tmp_path / ".env")
    assert faults == {".env": ["cannot be read: not UTF-8"]}
    (tmp_path / "folder").mkdir()
    assert list(environment.read_lines(tmp_path / "folder")[1]) == ["folder"]
