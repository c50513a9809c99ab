"""Settings are derived from the environment. If the environment is invalid, nothing starts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.config.imported_settings import bare, import_settings
from tests.house.readme import OF_THE_TESTS, explained_in_readme
from tests.house.source import ROOT
from tests.patience import PATIENCE
from tests.servers.forks import run_to_end

KEY = Fernet.generate_key().decode()
POSTGRES = "postgresql://user:pass@127.0.0.1:1/none"


def start(
    folder: Path, *, cwd: Path = ROOT, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Import the settings in a separate process, in a bare environment with these variables."""
    return subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        cwd=cwd,
        env=bare(folder, PYTHONPATH=str(cwd), **environment),
        capture_output=True,
        text=True,
        timeout=300,
    )


def settings_of(folder: Path, *names: str, **environment: str) -> dict[str, Any]:
    """Return the named settings for this environment, as JSON values."""
    found = import_settings(folder, **environment)
    shown: dict[str, Any] = json.loads(json.dumps({n: found[n] for n in names}, default=str))
    return shown


def faults_of(folder: Path, **environment: str) -> list[str]:
    """Return the error lines that are printed for an invalid environment.

    Asserts that a heading precedes these lines.
    """
    with pytest.raises(SystemExit) as ended:
        import_settings(folder, **environment)
    first, *lines = str(ended.value).splitlines()
    assert first == "The environment is not valid:"
    return lines


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("::1", "http://[::1]:8000"),
        ("192.0.2.1", "http://192.0.2.1:8000"),
        ("localhost", "http://127.0.0.1:8000"),
    ],
)
def test_the_public_url_follows_the_host(tmp_path: Path, host: str, address: str) -> None:
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


# Three invalid values for each variable whose value can be invalid. The word "canary" stands for a
# secret, which no error message may quote.
WRONG = {
    "HOST": ("web.internal", "http://127.0.0.1", "127.0.0.1:80"),
    "METRICS_PORT": ("99999", "0", "http"),
    "PORT": ("99999", "0", "http"),
    "STATE_DIR": ("/dev/null", "/dev/null/below", "x" * 300),
    "DATABASE_URL": ("canary", "mysql://u:canary@h/name", "postgresql://u:canary@h:port/name"),
    "REDIS_URL": ("canary", "redis://:canary@h:port/0", "redis://:canary@h/first"),
    "SECRET_KEY": ("", "", ""),
    "ENCRYPTION_KEYS": ("canary", f"{KEY},canary", "canary,"),
    "DEBUG": ("perhaps", "2", "yes please"),
    "ALLOWED_HOSTS": ("http://foo", "foo:8000", "[foo]"),
    "PUBLIC_URL": ("nowhere", "https://u:canary@example.com", "https://example.com:port"),
    "TRUSTED_PROXIES": ("everyone", "10.0.0.1/8", "10.0.0.0/99"),
    "WEB_WORKERS": ("0", "many", "100000"),
    "WEB_THREADS": ("0", "1.5", "100000"),
    "WORKER_CONCURRENCY": ("none", "-1", "100000"),
    "ACCESS_LOG": ("perhaps", "json", "2"),
    "PREPARED_STATEMENTS": ("perhaps", "json", "2"),
    "RATE_LIMIT_IP": ("often", "1/0s", "5"),
    "RATE_LIMIT_USER": ("often", "0/60s", "500/1d"),
    "SENDING": ("perhaps", "mails", "2"),
    "WEBHOOK_TIMEOUT": ("0", "nan", "1e300"),
    "WEBHOOK_RETRY_DELAYS": ("soon", "-1", "1;2"),
    "WEBHOOK_ALLOWED_NETWORKS": ("home", "*", "localhost"),
    "WEBHOOK_CA_BUNDLE": ("/nowhere", "README.md", "docs"),
    "WEBHOOK_RETENTION_DAYS": ("0", "forever", "9999999999"),
    "AUDIT_RETENTION_DAYS": ("0", "forever", "9999999999"),
    "WEBHOOK_FAILURE_MAIL_AFTER": ("soon", "0", "1h"),
    "LLM_BASE_URL": ("foo", "http://u:canary@h/v1", "http://h/v1?key=canary"),
    "LLM_MODEL": ("x" * 101, "x" * 300, "x" * 9999),
    "LLM_API_KEY": ("canary canary", "canary\n", "canary\xfc"),
    "LLM_API_KEY_SMALL": ("canary canary", "canary\n", "canary\xfc"),
    "LLM_TIMEOUT": ("0", "inf", "a while"),
    "EMAIL_URL": ("nonsense", "smtp://u:canary@h:port", "file:"),
}
ANY_TEXT = {"REDIS_PREFIX", "ENV_FILE"}


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_all_invalid_variables_are_named_at_once_and_nothing_starts(
    tmp_path: Path, turn: int
) -> None:
    wrong = {name: values[turn] for name, values in WRONG.items()}
    if turn == 0:  # a valid database URL makes both secrets required
        wrong |= {"DATABASE_URL": POSTGRES, "ENCRYPTION_KEYS": ""}
    ended = start(tmp_path, **wrong)
    assert ended.returncode != 0
    first, *lines = ended.stderr.splitlines()
    assert first == "The environment is not valid:"
    named = {line.split(":")[0].strip() for line in lines}
    allowed = {"DATABASE_URL"} if turn == 0 else {"SECRET_KEY"}
    assert set(WRONG) - allowed <= named
    assert "Traceback" not in ended.stderr
    assert "canary" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_variable_has_invalid_values_in_the_table() -> None:
    families = {name for name in explained_in_readme() if name.endswith("…")}
    assert explained_in_readme() - families - OF_THE_TESTS - ANY_TEXT <= set(WRONG)


def test_another_file_can_take_the_place_of_the_dotenv(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("PORT=8123\n")
    assert settings_of(tmp_path, "PORT", ENV_FILE=str(tmp_path / "file")) == {"PORT": 8123}


def test_the_processes_of_the_tests_do_not_read_the_developers_dotenv() -> None:
    assert os.environ["ENV_FILE"] == os.devnull
    show = "import os; print(os.environ['ENV_FILE'])"
    done = run_to_end("-c", show, environment={"PATH": os.environ["PATH"]}, timeout=PATIENCE)
    assert done.stdout == f"{os.devnull}\n", done.stderr


def test_a_folder_that_cannot_be_created_is_named() -> None:
    # os.access reports that root may write to /proc, but nothing can be created there.
    ended = start(Path("/proc/none"))
    assert ended.returncode != 0
    assert ended.stderr.splitlines()[1].startswith("  STATE_DIR: /proc/none")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, {"SECRET_KEY", "ENCRYPTION_KEYS"}),
        ({"SECRET_KEY": "x"}, {"ENCRYPTION_KEYS"}),
        ({"ENCRYPTION_KEYS": KEY}, {"SECRET_KEY"}),
    ],
)
def test_with_a_database_url_both_secrets_are_required(
    tmp_path: Path, given: dict[str, str], missing: set[str]
) -> None:
    assert faults_of(tmp_path, DATABASE_URL=POSTGRES, **given) == [
        f"  {name}: must be set if DATABASE_URL is set"
        for name in ("SECRET_KEY", "ENCRYPTION_KEYS")
        if name in missing
    ]


def test_the_embedded_default_generates_its_secrets_once(tmp_path: Path) -> None:
    names = ("SECRET_KEY", "ENCRYPTION_KEYS")
    first, again = settings_of(tmp_path, *names), settings_of(tmp_path, *names)
    other = settings_of(tmp_path / "other", *names)
    assert first == again
    assert not [name for name in names if first[name] == other[name]]


@pytest.mark.parametrize(
    ("database", "cache", "bound"),
    [("", "", True), (POSTGRES, "", True), ("", "redis://x", True), (POSTGRES, "redis://x", False)],
)
def test_the_service_is_bound_to_one_machine_unless_both_servers_are_given(
    tmp_path: Path, database: str, cache: str, bound: bool
) -> None:
    given = {"DATABASE_URL": database, "REDIS_URL": cache, "SECRET_KEY": "x"}
    found = settings_of(tmp_path, "MACHINE_BOUND", ENCRYPTION_KEYS=KEY, **given)
    assert found == {"MACHINE_BOUND": bound}


def test_https_makes_cookies_secure_and_allows_the_public_host(tmp_path: Path) -> None:
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


def test_only_variables_with_the_prefix_become_model_keys(tmp_path: Path) -> None:
    found = settings_of(
        tmp_path, "LLM_KEYS", LLM_API_KEY="a", LLM_API_KEY_SMALL="b", AWS_SECRET="c", LLM_X="d"
    )
    assert found["LLM_KEYS"] == {"LLM_API_KEY": "a", "LLM_API_KEY_SMALL": "b"}
