"""The parsers of our own kinds of value."""

import ipaddress
import os
import stat
from concurrent.futures import ThreadPoolExecutor
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
    "text", ["", "5", "5/", "/s", "0/s", "5/0s", "-5/s", "5/1d", "5/1.5s", "x/s", "5 / s", "on"]
)
def test_another_rate_is_refused(text: str) -> None:
    with pytest.raises(EnvError, match='expected count/window such as "500/60s", or "off"'):
        environment.rate(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,5,25", (1, 5, 25)), ("0.1, 0.2", (0.1, 0.2)), ("0", (0,)), ("", ()), ("3,", (3,))],
)
def test_delays_are_seconds(text: str, value: Any) -> None:
    assert environment.delays(text) == value


@pytest.mark.parametrize("text", ["x", "1;2", "-1", "86400", "nan", "inf", "1,,x"])
def test_other_delays_are_refused(text: str) -> None:
    with pytest.raises(EnvError):
        environment.delays(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3600", 3600), ("0.5", 0.5), (" 60 ", 60), ("31536000", 31_536_000)],
)
def test_a_period_is_seconds(text: str, seconds: float) -> None:
    assert environment.period(text) == timedelta(seconds=seconds)


def test_a_period_may_be_off() -> None:
    assert environment.period("off") is environment.period(" OFF ") is None


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "31536001", "nan", "inf", "1h", "1,5"])
def test_another_period_is_refused(text: str) -> None:
    with pytest.raises(EnvError, match="expected seconds"):
        environment.period(text)


def test_networks_are_cidr_or_addresses() -> None:
    assert environment.networks("10.0.0.0/8, ::1 ,192.0.2.7") == (
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("::1/128"),
        ipaddress.ip_network("192.0.2.7/32"),
    )
    assert environment.networks("") == ()


@pytest.mark.parametrize("text", ["10.0.0.1/8", "nonsense", "10.0.0.0/33", "*", "localhost"])
def test_other_networks_are_refused(text: str) -> None:
    with pytest.raises(EnvError, match="expected networks such as"):
        environment.networks(text)


def test_fernet_keys_are_read_in_their_order() -> None:
    keys = [Fernet.generate_key().decode() for _ in range(2)]
    assert environment.fernet_keys(" , ".join(keys)) == tuple(keys)


@pytest.mark.parametrize("wrong", ["short", "x" * 44, "ü" * 43 + "="])
def test_a_key_that_is_none_is_named_by_its_place_and_never_quoted(wrong: str) -> None:
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
    ],
)
def test_an_address_loses_its_last_slash(text: str, value: str) -> None:
    assert environment.web_address(text) == value


@pytest.mark.parametrize("text", ["bots.example.com", "ftp://x", "https://", "", "https://x/?a=b"])
def test_another_address_is_refused(text: str) -> None:
    with pytest.raises(EnvError, match="expected an address such as"):
        environment.web_address(text)


class TestKeptSecret:
    """Secrets that are made once and kept in a file."""

    def test_it_is_made_once_and_for_its_owner_alone(self, tmp_path: Path) -> None:
        first = environment.kept_secret(tmp_path / "new", "key", lambda: "made")
        again = environment.kept_secret(tmp_path / "new", "key", lambda: "made again")
        assert first == again == "made"
        [kept] = (tmp_path / "new").iterdir()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    def test_all_who_begin_at_once_agree(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor(8) as threads:
            found = threads.map(
                lambda n: environment.kept_secret(tmp_path, "key", lambda: f"made by {n}"),
                range(32),
            )
        assert len(set(found)) == 1
        assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the process's environment back as it was."""
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_the_file_joins_the_environment_beneath_the_real_variables(
    tmp_path: Path, untouched: None
) -> None:
    (tmp_path / ".env").write_text("LLM_API_KEY_FILE=file\nIN_BOTH=file\n")
    os.environ["IN_BOTH"] = "environment"
    env = environment.environment(tmp_path / ".env")
    assert (env.str("LLM_API_KEY_FILE"), env.str("IN_BOTH")) == ("file", "environment")
    assert os.environ["LLM_API_KEY_FILE"] == "file"
