"""Only web processes and system checks load the modules of the admin's pages."""

import json
from typing import Any

import pytest

from tests.config.imported_settings import run
from tests.house.source import APPS

OURS = {f"{app}.admin" for app in APPS}
LOADED = """
import json, sys
import config.celery, django
django.setup()
import conversations.worker
from conversations.management.commands.serve import Command
from django.core import checks

Command().check(tags=Command.requires_system_checks)
started = list(sys.modules)
found = checks.run_checks(tags=[checks.Tags.admin])
checked = list(sys.modules)
import config.wsgi
known = {"started": started, "checked": checked, "web": list(sys.modules), "found": len(found)}
json.dump(known, sys.stdout)
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The modules that are loaded after each of three successive steps in one process.

    `started`: the code of a worker and of `serve` has been loaded. `checked`: the admin's checks
    have also run. `web`: the web application has also been loaded. `found` is the number of faults
    that the checks found.
    """
    known: dict[str, Any] = json.loads(run(tmp_path_factory.mktemp("state"), LOADED))
    return known


def test_neither_a_worker_nor_serve_loads_an_admin_page(loaded: dict[str, Any]) -> None:
    assert not OURS & set(loaded["started"])


def test_the_checks_load_all_pages_and_find_no_fault(loaded: dict[str, Any]) -> None:
    assert set(loaded["checked"]) >= OURS
    assert loaded["found"] == 0


def test_web_loads_all_routes_before_its_first_request(loaded: dict[str, Any]) -> None:
    assert "config.urls" not in loaded["checked"]
    assert "config.urls" in loaded["web"]
