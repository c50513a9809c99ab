"""A deployment has no warnings, and the admin warns about a demo that is open to the network."""

import os
from io import StringIO
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.test import Client

from conversations.management.commands.serve import Command
from tests.patience import PATIENCE
from tests.servers.forks import run_to_end

SHARED = "redis://127.0.0.1:6379/0"
PRODUCTION = {
    "DATABASE_URL": "postgresql://u:p@127.0.0.1:5432/x",
    "SECRET_KEY": "k5+2m#v8qz!x0w@9rj7&ynt4c(h6g3bd1f^s_u-aelpio*q-and-more",
    "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    "PUBLIC_URL": "https://bots.example.com",
}


def checked(folder: Path, *options: str, **environment: str) -> str:
    """Run `manage.py check` in this environment, assert that it succeeds, and return its output."""
    known = {"STATE_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    bare = {"DATABASE_URL": "", "REDIS_URL": "", "WEBHOOK_ALLOWED_NETWORKS": ""}
    inherited = os.environ.copy()
    inherited.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)  # set by the browser tests
    done = run_to_end(
        *("manage.py", "check", *options),
        environment=inherited | bare | known | environment,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr + done.stdout


@pytest.mark.parametrize("production", [False, True], ids=["embedded", "production"])
def test_a_complete_deployment_behind_https_has_no_warnings(
    tmp_path: Path, production: bool
) -> None:
    environment = PRODUCTION | {"REDIS_URL": SHARED} if production else PRODUCTION
    environment = environment if production else {"PUBLIC_URL": "https://bots.example.com"}
    environment = {"SECRET_KEY": PRODUCTION["SECRET_KEY"]} | environment
    output = checked(tmp_path, "--deploy", "--fail-level", "WARNING", **environment)
    assert "no issues" in output


@pytest.mark.parametrize("exposed", [True, False])
def test_the_admin_warns_about_a_demo_that_is_open_to_the_network(
    db: None, settings: object, admin_client: Client, exposed: bool
) -> None:
    settings.EXPOSED = exposed  # type: ignore[attr-defined]
    page = admin_client.get("/admin/").content.decode()
    assert ("Demo, open to the network" in page) is exposed


@pytest.mark.parametrize("exposed", [True, False])
def test_serve_warns_about_a_demo_that_is_open_to_the_network(
    db: None, settings: object, exposed: bool
) -> None:
    settings.EXPOSED = exposed  # type: ignore[attr-defined]
    output = StringIO()
    Command(stdout=output).welcome(None, None)
    assert (
        "WARNING: a demo installation can be reached from other machines" in output.getvalue()
    ) is exposed
