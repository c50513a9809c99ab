"""The import contracts in .importlinter report the imports that they forbid.

The tests build a small project and check it against the contracts. `make check` checks the real
project.
"""

import os
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.house.source import PACKAGES, ROOT

CONTRACTS = ROOT / ".importlinter"
HOUSE = {
    ("conversations.services", "webhooks.outbox"): True,
    ("conversations.dispatcher", "accounts.mail_queue"): True,
    ("accounts.models", "config.database"): True,
    ("config.api", "accounts.models"): False,
    ("config.settings", "chatbots.models"): False,
    ("config.runtime", "conversations.dispatcher"): False,
    ("accounts.services", "chatbots.models"): False,
    ("chatbots.models", "webhooks.models"): False,
    ("webhooks.engine", "conversations.models"): False,
}
INSIDE = {
    ("chatbots.admin", "chatbots.services"): True,
    ("chatbots.viewsets", "chatbots.serializers"): True,
    ("chatbots.serializers", "chatbots.services"): False,
    ("chatbots.services", "chatbots.serializers"): False,
    ("chatbots.services", "chatbots.viewsets"): False,
    ("webhooks.outbox", "webhooks.services"): False,
    ("conversations.tasks", "conversations.services"): True,
    ("conversations.services", "conversations.tasks"): False,
    ("webhooks.engine", "webhooks.outbox"): False,
    ("conversations.notifications", "conversations.events"): False,
    ("accounts.models", "accounts.access"): False,
    ("accounts.permissions", "accounts.models"): False,
    ("conversations.viewsets", "conversations.urls"): False,
    ("conversations.dispatcher", "conversations.tasks"): True,
    ("conversations.tasks", "conversations.admin"): False,
    ("accounts.quotas", "accounts.notifications"): True,
    ("accounts.quotas", "accounts.access"): False,
    ("webhooks.masking", "webhooks.sealing"): False,
}
CONFIG = {
    ("config.admin", "config.runtime"): True,
    ("config.runtime", "config.api"): True,
    ("config.api", "config.database"): True,
    ("config.api", "config.runtime"): False,
    ("config.database", "config.api"): False,
    ("config.database", "config.outbound"): False,
    ("config.outbound", "config.database"): False,
    ("config.environment", "config.settings"): False,
}


def broken(house: Path, *, contract: str) -> str:
    """Run the import linter on the small project, and return its output."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    options = ["--no-cache", "--no-logo", "--config", str(CONTRACTS), "--contract", contract]
    environment = os.environ | {"COLUMNS": "500", "PYTHONPATH": str(house)}
    done = subprocess.run(
        [sys.executable, "-c", lint, *options],
        cwd=house,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def build(house: Path, imports: dict[tuple[str, str], bool]) -> None:
    """Write packages that contain only these imports. Each import links its own pair of modules."""
    for package in PACKAGES:
        (house / package).mkdir(parents=True)
        (house / package / "__init__.py").touch()
    for number, (importer, imported) in enumerate(imports):
        for name, text in ((importer, f"import {imported}.case{number}b"), (imported, "")):
            folder = house / name.replace(".", "/")
            folder.mkdir(exist_ok=True)
            (folder / "__init__.py").touch()
            suffix = "a" if text else "b"
            (folder / f"case{number}{suffix}.py").write_text(text)


@pytest.mark.parametrize(
    ("contract", "imports"), [("house", HOUSE), ("inside", INSIDE), ("config", CONFIG)]
)
def test_an_upward_import_breaks_the_contract_and_a_downward_one_keeps_it(
    tmp_path: Path, contract: str, imports: dict[tuple[str, str], bool]
) -> None:
    build(tmp_path, imports)
    said = broken(tmp_path, contract=contract)
    allowed = {
        (importer, imported): f"{importer}.case{number}a -> {imported}.case{number}b" not in said
        for number, (importer, imported) in enumerate(imports)
    }
    assert allowed == imports, said


def test_a_module_outside_the_layers_breaks_the_contract(tmp_path: Path) -> None:
    build(tmp_path, INSIDE)
    (tmp_path / "accounts" / "novelty.py").touch()
    assert "novelty" in broken(tmp_path, contract="inside")


def test_the_contracts_have_no_exceptions() -> None:
    contracts = ConfigParser()
    contracts.read(CONTRACTS)
    assert contracts["importlinter"]["root_packages"].split() == list(PACKAGES)
    assert not [name for name in contracts if "ignore_imports" in contracts[name]]
