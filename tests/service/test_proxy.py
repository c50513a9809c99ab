"""Behind nginx with the sample configuration, clients that are slow do not reach the service."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Api
from tests.groups import needs
from tests.house.source import ROOT
from tests.patience import PATIENCE
from tests.servers.processes import Web, free_port, wait_until
from tests.servers.raw import Raw, as_json

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SLOW = 600  # number of clients that do not finish their bodies
MAIN = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/responses;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {sample}
}}
"""


class Proxy:
    """A real nginx that runs docs/deploy/nginx.conf, without TLS."""

    def __init__(self, folder: Path, web: Web) -> None:
        self.port, lines = free_port(), (ROOT / "docs/deploy/nginx.conf").read_text().splitlines()
        sample = "\n".join(line for line in lines if "ssl_certificate" not in line)
        sample = sample.replace("127.0.0.1:8000", f"127.0.0.1:{web.port}")
        sample = sample.replace("listen 443 ssl", f"listen 127.0.0.1:{self.port}")
        config = folder / "nginx.conf"
        config.write_text(MAIN.format(folder=folder, sample=sample))
        command = [
            needs("nginx"),
            "-p",
            str(folder),
            "-c",
            str(config),
            "-e",
            f"{folder}/error.log",
        ]
        self.running = subprocess.Popen(command)

    def answers(self) -> bool:
        try:
            with Raw(self) as raw:
                raw.send("GET /healthz")
                return raw.response()[0] == 200
        except OSError:
            return False


@pytest.fixture
def proxy(api: Api, tmp_path: Path) -> Iterator[Proxy]:
    limits = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off", "TRUSTED_PROXIES": "127.0.0.1/32"}
    with Web(WEB_WORKERS="1", WEB_THREADS="10", **limits) as web:
        proxy = Proxy(tmp_path, web)
        try:
            wait_until(proxy.answers)
            yield proxy
        finally:
            proxy.running.terminate()
            proxy.running.wait(PATIENCE)


def test_600_unfinished_bodies_delay_neither_reads_nor_other_bodies(
    proxy: Proxy, api: Api, chatbot: Any
) -> None:
    starters = f"POST /api/v1/chatbots/chatbot/{chatbot.pk}/conversation-starters"
    body = b'{"text": "quick"}'
    with ExitStack() as slow:
        for _ in range(SLOW):
            raw = slow.enter_context(Raw(proxy))
            raw.send(starters, *as_json(api), "Content-Length: 1000", body=b'{"')
        for _ in range(5):
            with Raw(proxy) as raw:
                raw.send("GET /api/v1/chatbots", *as_json(api))
                assert raw.response()[0] == 200
                raw.send(starters, *as_json(api), f"Content-Length: {len(body)}", body=body)
                assert raw.response()[0] == 200


def test_a_client_cannot_choose_its_address_or_request_id_by_an_underscore(
    proxy: Proxy, api: Api
) -> None:
    with Raw(proxy) as raw:
        raw.send("GET /healthz", "X_Request_Id: made-up", "X_Forwarded_For: 192.0.2.9")
        status, headers, _ = raw.response()
    assert (status, headers["x-request-id"] == "made-up") == (200, False)


def test_a_body_of_any_size_gets_the_services_own_answer(
    proxy: Proxy, api: Api, chatbot: Any
) -> None:
    length = 2 * 1024 * 1024
    with Raw(proxy) as raw:
        path = f"POST /api/v1/chatbots/chatbot/{chatbot.pk}/conversation-starters"
        raw.send(path, *as_json(api), f"Content-Length: {length}", body=b"x" * length)
        status, _, told = raw.response()
    assert (status, json.loads(told)["success"]) == (400, False)
