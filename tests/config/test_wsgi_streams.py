"""A client that reads a streamed response slowly, or disconnects, does not delay other clients."""

import json
import re
import socket
import time
from collections.abc import Iterator

import pytest
import requests
from django.conf import settings
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories import bulk
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory
from tests.patience import PATIENCE
from tests.servers.processes import Web
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 20_000
MANY = 300_000  # rows of an export that would take at least 60 MB of memory
THREADS = 12
EXPORT = reverse("admin:webhooks_delivery_export", args=["json"])


@pytest.fixture
def rows(chatbot: Chatbot) -> list[str]:
    ended = {"state": "SUCCESS", "due_at": None, "last_detail": "x" * 200}
    bulk.copy(DeliveryFactory(chatbot=chatbot, body=b"{}", **ended), ROWS - 1)
    return [str(key) for key in Delivery.objects.values_list("pk", flat=True)]


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(WEB_WORKERS="1", WEB_THREADS=str(THREADS), RATE_LIMIT_IP="off") as web:
        yield web


@pytest.fixture
def cookies() -> dict[str, str]:
    return {"sessionid": signed_in(superuser()).cookies["sessionid"].value}


@pytest.mark.slow
def test_a_long_response_arrives_whole_and_begins_at_once(
    rows: list[str], web: Web, cookies: dict[str, str]
) -> None:
    shares = []
    for _ in range(3):  # a busy machine can delay any response
        began = time.monotonic()
        answer = requests.get(web.address + EXPORT, cookies=cookies, timeout=PATIENCE, stream=True)
        pieces = answer.iter_content(None)
        received = next(pieces)
        first = time.monotonic() - began
        received += b"".join(pieces)
        assert [row["id"] for row in json.loads(received)] == sorted(rows, reverse=True)
        assert answer.headers["Transfer-Encoding"] == "chunked"
        shares.append(first / (time.monotonic() - began))
    assert min(shares) < 1 / 2


def unread(web: Web, cookies: dict[str, str]) -> socket.socket:
    """Request an export, and return the socket without reading the response."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(("127.0.0.1", web.port))
    session = f"Cookie: sessionid={cookies['sessionid']}"
    client.sendall(f"GET {EXPORT} HTTP/1.1\r\nHost: localhost\r\n{session}\r\n\r\n".encode())
    return client


@pytest.mark.slow
def test_clients_that_read_nothing_hold_only_their_threads(
    rows: list[str], web: Web, cookies: dict[str, str]
) -> None:
    slow = [unread(web, cookies) for _ in range(THREADS - 2)]
    log = reverse("admin:webhooks_delivery_changelist")
    for _ in range(10):
        assert requests.get(web.address + log, cookies=cookies, timeout=PATIENCE).status_code == 200
    for client in slow:
        client.close()


@pytest.mark.slow
def test_clients_that_disconnect_leave_their_threads(
    rows: list[str], web: Web, cookies: dict[str, str]
) -> None:
    for _ in range(2 * THREADS):
        client = unread(web, cookies)
        client.recv(1_000)
        client.close()
    assert requests.get(web.address + EXPORT, cookies=cookies, timeout=PATIENCE).status_code == 200


def memory(web: Web) -> int:
    """Return how many bytes of memory the server and its workers have in use."""
    used = [
        re.search(r"VmRSS:\s+(\d+) kB", (entry / "status").read_text()) for entry in web.alive()
    ]
    return sum(int(one[1]) for one in used if one) * 1024


@pytest.mark.slow
def test_a_large_export_to_slow_clients_holds_neither_memory_nor_a_connection(
    chatbot: Chatbot, web: Web, cookies: dict[str, str]
) -> None:
    ended = {"state": "SUCCESS", "due_at": None, "last_detail": "x" * 200}
    bulk.copy(DeliveryFactory(chatbot=chatbot, body=b"{}", **ended), MANY - 1)
    before = memory(web)
    slow = [unread(web, cookies) for _ in range(3)]
    for _ in range(10):
        for client in slow:
            assert client.recv(1_000)
        time.sleep(1)  # a client that reads 1 KB a second
    assert memory(web) - before < MANY * 200
    if not settings.EMBEDDED:
        page = requests.get(f"{web.address}/metrics", timeout=PATIENCE).text
        assert "chatbots_database_pool_connections_used 0.0" in page
    for client in slow:
        client.close()
