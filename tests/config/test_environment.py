"""The parsers for each type of setting, and how `.env` is read."""

import ipaddress
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from environs import EnvError

from config import environment


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100/1s", (100, 1)),
        ("500/60s", (500, 60)),
        ("500/s", (500, 1)),
        ("5/m", (5, 60)),
        ("5/2m", (5, 120)),
        (" 7/1h ", (7, 3600)),
        ("off", None),
        ("OFF", None),
    ],
)
def test_a_rate_is_a_count_and_a_window_or_off(text: str, value: Any) -> None:
    assert environment.rate(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "5", "5/", "/s", "0/s", "5/0s", "5/00s", "-5/s", "5/1d", "5/1.5s", "x/s", "5 / s", "on"],
)
def test_an_invalid_rate_is_rejected(text: str) -> None:
    with pytest.raises(EnvError, match='expected count/window such as "500/60s", or "off"'):
        environment.rate(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,5,25", (1, 5, 25)), ("0.1, 0.2", (0.1, 0.2)), ("0", (0,)), ("", ()), ("3,", (3,))],
)
def test_delays_are_numbers_of_seconds(text: str, value: Any) -> None:
    assert environment.delays(text) == value


@pytest.mark.parametrize("text", ["x", "1;2", "-1", "86400", "nan", "inf", "1,,x"])
def test_invalid_delays_are_rejected(text: str) -> None:
    with pytest.raises(EnvError):
        environment.delays(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3600", 3600), ("0.5", 0.5), (" 60 ", 60), ("31536000", 31_536_000)],
)
def test_a_period_is_a_number_of_seconds(text: str, seconds: float) -> None:
    assert environment.period(text) == timedelta(seconds=seconds)


def test_a_period_may_be_off() -> None:
    assert environment.period("off") is environment.period(" OFF ") is None


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "31536001", "nan", "inf", "1h", "1,5"])
def test_an_invalid_period_is_rejected(text: str) -> None:
    with pytest.raises(EnvError, match="expected a number of seconds"):
        environment.period(text)


def test_networks_are_cidr_ranges_or_addresses() -> None:
    assert environment.networks("10.0.0.0/8, ::1 ,192.0.2.7") == (
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("::1/128"),
        ipaddress.ip_network("192.0.2.7/32"),
    )
    assert environment.networks("") == ()


@pytest.mark.parametrize("text", ["10.0.0.1/8", "nonsense", "10.0.0.0/33", "*", "localhost"])
def test_invalid_networks_are_rejected(text: str) -> None:
    with pytest.raises(EnvError, match="expected networks such as"):
        environment.networks(text)


def test_fernet_keys_keep_their_order() -> None:
    keys = [Fernet.generate_key().decode() for _ in range(2)]
    assert environment.fernet_keys(" , ".join(keys)) == tuple(keys)


@pytest.mark.parametrize("wrong", ["short", "x" * 44, "ü" * 43 + "="])
def test_an_invalid_key_is_named_by_its_position_and_never_quoted(wrong: str) -> None:
    with pytest.raises(EnvError) as refusal:
        environment.fernet_keys(f"{Fernet.generate_key().decode()},{wrong}")
    assert "key 2 is not a Fernet key" in str(refusal.value)
    assert wrong not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("https://bots.example.com", "https://bots.example.com"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("https://example.com/bots/", "https://example.com/bots"),
        ("HTTPS://example.com/Bots", "https://example.com/Bots"),
    ],
)
def test_a_scheme_is_in_lower_case_and_a_trailing_slash_is_dropped(text: str, value: str) -> None:
    assert environment.web_url(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("bots.example.com", "ftp://x", "https://", "", "https://x/?a=b", "https://x/#a"),
        *("https://u:p@x", "https://x:0", "https://x:99999", "https://[::1", "https://a b"),
    ],
)
def test_an_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(EnvError, match="expected a URL such as"):
        environment.web_url(text)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://bots.example.com/", "https://bots.example.com"),
        ("HTTPS://Bots.Example.com:443", "https://bots.example.com"),
        ("http://bots.example.com:80", "http://bots.example.com"),
        ("https://bots.example.com:80", "https://bots.example.com:80"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("", ""),
    ],
)
def test_the_public_url_is_an_origin_as_browsers_write_it(text: str, origin: str) -> None:
    assert environment.public_url(text) == origin


def test_the_public_url_has_no_path() -> None:
    with pytest.raises(EnvError, match="expected a URL without a path"):
        environment.public_url("https://example.com/bots/")


@pytest.mark.parametrize("text", ["127.0.0.1", "::1", "0.0.0.0", "::"])
def test_a_host_is_an_address(text: str) -> None:
    assert environment.host(text) == text


def test_the_host_localhost_is_resolved() -> None:
    assert environment.host("localhost") == environment.host("LOCALHOST") == "127.0.0.1"


@pytest.mark.parametrize(
    "text", ["", "a b", "http://x", "127.0.0.1:80", "[::1]", "web-1.internal", "fe80::1%eth0"]
)
def test_an_invalid_host_is_rejected(text: str) -> None:
    with pytest.raises(EnvError, match="expected an IP address such as"):
        environment.host(text)


def test_allowed_hosts_are_patterns_that_django_can_match() -> None:
    text = "a.example.com, .example.com,*,127.0.0.1,[::1],"
    assert environment.allowed_hosts(text) == [
        *("a.example.com", ".example.com", "*", "127.0.0.1", "[::1]")
    ]


@pytest.mark.parametrize("name", ["http://x", "x:80", "::1", "a/b", "*.example.com", "a b", "[x]"])
def test_an_allowed_host_that_never_matches_is_named(name: str) -> None:
    with pytest.raises(EnvError, match="is not a host") as refusal:
        environment.allowed_hosts(f"localhost,{name}")
    assert repr(name) in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "postgresql://u:p@h:5432/name", "postgres://h/name?sslmode=require"),
        *("postgresql:///name?host=/run/postgresql", "postgresql://u:p%40@h/name"),
    ],
)
def test_a_database_url_is_a_postgresql_url(text: str) -> None:
    assert environment.database_url(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("canary", "sqlite:///canary", "postgresql://u:canary@h", "postgresql://u:canary@h:x/n"),
        *("postgresql://u:canary@h/n?color=red", "postgresql://u:canary@[h/n"),
    ],
)
def test_an_invalid_database_url_is_rejected_and_not_quoted(text: str) -> None:
    with pytest.raises(EnvError, match="expected postgresql://") as refusal:
        environment.database_url(text)
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "redis://x", "rediss://u:p@h:6380/2", "redis://[::1]:6379/0"])
def test_a_redis_url_is_accepted(text: str) -> None:
    assert environment.redis_url(text) == text


def test_the_scheme_of_a_redis_url_may_be_in_upper_case() -> None:
    assert environment.redis_url("REDISS://u:P@h:6380/2") == "rediss://u:P@h:6380/2"


@pytest.mark.parametrize(
    "text", ["canary", "http://canary", "redis://", "redis://:canary@h:x", "redis://h/canary"]
)
def test_an_invalid_redis_url_is_rejected_and_not_quoted(text: str) -> None:
    with pytest.raises(EnvError, match="expected redis://") as refusal:
        environment.redis_url(text)
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("console:", "console"),
        ("dummy:", "dummy"),
        ("file:/tmp/mails", "filebased"),
        ("smtp://u:p@h:587/?tls=True", "smtp"),
        ("submission://u:p@h", "smtp"),
    ],
)
def test_the_email_url_selects_the_mail_backend(text: str, backend: str) -> None:
    found = environment.email_url(text)
    assert found["EMAIL_BACKEND"].split(".")[-2] == backend


@pytest.mark.parametrize(
    "text",
    [
        *("", "nonsense", "canary://h", "smtp://u:canary@h:x", "submission:", "file:"),
        "smtp://u:canary@h/?timeout=soon",
    ],
)
def test_an_invalid_email_url_is_rejected_and_not_quoted(text: str) -> None:
    with pytest.raises(EnvError, match="expected console:") as refusal:
        environment.email_url(text)
    assert "canary" not in str(refusal.value)


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
