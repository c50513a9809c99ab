"""How many bytes a browser loads from the web server on its first visit."""

from pathlib import Path

import pytest
from django.test import override_settings
from playwright.sync_api import Browser, Request, Response

from accounts.models import User
from conversations import processes
from tests.browser.conftest import PATIENCE
from tests.factories.staff import signed_in
from tests.servers.processes import Web

FOREVER = "max-age=315360000, public, immutable"
LIMIT = 500_000  # bytes that a first visit may load


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static") / "current"
    with override_settings(STATIC_ROOT=folder):
        processes.collect_static_files()
    return folder


def test_the_first_visit_loads_less_than_500_kb_and_static_files_are_cached(
    browser: Browser, collected: Path, person: User
) -> None:
    loaded: list[Request] = []
    answers: list[Response] = []
    with Web(TEST_STATIC_ROOT=str(collected)) as web:
        context = browser.new_context(base_url=web.address)
        context.set_default_timeout(PATIENCE)
        session = signed_in(person).cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": session, "url": web.address}])
        page = context.new_page()
        page.on("requestfinished", lambda request: loaded.append(request))
        page.on("response", lambda answer: answers.append(answer))
        page.goto("/admin/", wait_until="networkidle")
        sizes = {request.url: request.sizes() for request in loaded}
        total = sum(size["responseBodySize"] for size in sizes.values())
        files = [answer for answer in answers if "/static/" in answer.url]
        context.close()
    assert len(files) > 10
    assert {answer.headers.get("cache-control", answer.url) for answer in files} == {FOREVER}
    assert 50_000 < total < LIMIT, (total, sizes)
