"""What the settings make of the environment: each case is a start of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.house.source import ROOT

KEY = Fernet.generate_key().decode()
POSTGRES = "postgresql://user:pass@127.0.0.1:1/none"
SHOW = """
import json, config.settings as given
names = {names!r}
print(json.dumps({{name: getattr(given, name) for name in names}}, default=str))
"""


def start(tmp_path: Path, *names: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Import the settings in a process with nothing but the given environment."""
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", SHOW.format(names=names)],
        cwd=ROOT,
        env=plain | {"STATE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def settings_of(tmp_path: Path, *names: str, **environment: str) -> dict[str, Any]:
    """Read settings as such an environment makes them."""
    ended = start(tmp_path, *names, **environment)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("::1", "http://[::1]:8000"),
        ("192.0.2.1", "http://192.0.2.1:8000"),
    ],
)
def test_the_public_address_follows_the_host(tmp_path: Path, host: str, address: str) -> None:
    assert settings_of(tmp_path, "PUBLIC_URL", HOST=host) == {"PUBLIC_URL": address}


@pytest.mark.proves("Limits/address", "Limits/user", "Delivery rules/1", "Delivery rules/2")
def test_the_defaults_are_the_documented_ones(tmp_path: Path) -> None:
    expected = {
        "HOST": "127.0.0.1",
        "PORT": 8000,
        "PUBLIC_URL": "http://127.0.0.1:8000",
        "DEBUG": False,
        "RATE_LIMIT_IP": [100, 1],
        "RATE_LIMIT_USER": [500, 60],
        "WEBHOOK_TIMEOUT": 10.0,
        "WEBHOOK_RETRY_DELAYS": [1.0, 5.0, 25.0],
        "WEBHOOK_ALLOWED_NETWORKS": [],
        "TRUSTED_PROXIES": [],
        "LLM_TIMEOUT": 30.0,
        "EMBEDDED": True,
        "SECURE": False,
        "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]", "127.0.0.1"],
    }
    assert settings_of(tmp_path, *expected) == expected


def test_all_wrong_variables_are_named_at_once_and_nothing_starts(tmp_path: Path) -> None:
    wrong = {
        "PORT": "99999",
        "DEBUG": "perhaps",
        "RATE_LIMIT_IP": "often",
        "WEBHOOK_TIMEOUT": "0",
        "WEBHOOK_RETRY_DELAYS": "soon",
        "TRUSTED_PROXIES": "everyone",
        "ENCRYPTION_KEYS": "canary-of-a-key",
        "PUBLIC_URL": "nowhere",
        "WORKER_CONCURRENCY": "none",
    }
    ended = start(tmp_path, **wrong)
    assert ended.returncode != 0
    first, *lines = ended.stderr.splitlines()
    assert first == "The environment is not valid:"
    assert {line.split(":")[0].strip() for line in lines} == set(wrong)
    assert "Traceback" not in ended.stderr
    assert "canary" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, {"SECRET_KEY", "ENCRYPTION_KEYS"}),
        ({"SECRET_KEY": "x"}, {"ENCRYPTION_KEYS"}),
        ({"ENCRYPTION_KEYS": KEY}, {"SECRET_KEY"}),
    ],
)
def test_with_a_database_of_its_own_both_secrets_must_be_given(
    tmp_path: Path, given: dict[str, str], missing: set[str]
) -> None:
    ended = start(tmp_path, DATABASE_URL=POSTGRES, **given)
    assert ended.returncode != 0
    lines = ended.stderr.splitlines()[1:]
    assert lines == [
        f"  {name}: must be set where DATABASE_URL is"
        for name in ("SECRET_KEY", "ENCRYPTION_KEYS")
        if name in missing
    ]


def test_a_missing_and_a_wrong_variable_are_named_together(tmp_path: Path) -> None:
    ended = start(tmp_path, DATABASE_URL=POSTGRES, SECRET_KEY="x", PORT="0")
    assert {line.split(":")[0].strip() for line in ended.stderr.splitlines()[1:]} == {
        "ENCRYPTION_KEYS",
        "PORT",
    }


def test_the_embedded_default_makes_its_secrets_once(tmp_path: Path) -> None:
    names = ("SECRET_KEY", "ENCRYPTION_KEYS")
    first, again = settings_of(tmp_path, *names), settings_of(tmp_path, *names)
    other = settings_of(tmp_path / "other", *names)
    assert first == again
    assert not [name for name in names if first[name] == other[name]]


@pytest.mark.parametrize(
    ("database", "cache", "bound"),
    [("", "", True), (POSTGRES, "", True), ("", "redis://x", True), (POSTGRES, "redis://x", False)],
)
def test_one_machine_is_enough_unless_both_servers_are_given(
    tmp_path: Path, database: str, cache: str, bound: bool
) -> None:
    given = {"DATABASE_URL": database, "REDIS_URL": cache, "SECRET_KEY": "x"}
    found = settings_of(tmp_path, "MACHINE_BOUND", ENCRYPTION_KEYS=KEY, **given)
    assert found == {"MACHINE_BOUND": bound}


def test_https_makes_cookies_secure_and_its_host_is_allowed(tmp_path: Path) -> None:
    found = settings_of(
        tmp_path,
        "SESSION_COOKIE_SECURE",
        "CSRF_COOKIE_SECURE",
        "SECURE_HSTS_SECONDS",
        "ALLOWED_HOSTS",
        PUBLIC_URL="https://bots.example.com",
        ALLOWED_HOSTS="10.0.0.5",
    )
    assert found["SESSION_COOKIE_SECURE"] and found["CSRF_COOKIE_SECURE"]
    assert found["SECURE_HSTS_SECONDS"] > 0
    assert found["ALLOWED_HOSTS"] == ["10.0.0.5", "bots.example.com"]


def test_no_other_variable_becomes_a_model_s_key(tmp_path: Path) -> None:
    found = settings_of(
        tmp_path, "LLM_KEYS", LLM_API_KEY="a", LLM_API_KEY_SMALL="b", AWS_SECRET="c", LLM_X="d"
    )
    assert found["LLM_KEYS"] == {"LLM_API_KEY": "a", "LLM_API_KEY_SMALL": "b"}
