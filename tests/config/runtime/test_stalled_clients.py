"""Clients that do not read their responses hold neither memory nor a connection for long."""

import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from tests.servers.processes import Web, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
TIMEOUT = 3  # seconds; in these tests, a client must accept more bytes within this time
CLIENTS = 100
LONG = "drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js.map"
SHORT = "admin/js/vendor/select2/select2.full.js"
# A single short response would fit in the system's buffers, so several are requested.
stalled = pytest.mark.parametrize(
    ("path", "times"), [(LONG, 1), (SHORT, 40)], ids=["long", "several short"]
)


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(WEB_WORKERS="1", TEST_STALL_TIMEOUT=str(TIMEOUT)) as web:
        yield web


@pytest.fixture
def patient_web() -> Iterator[Web]:
    with Web(WEB_WORKERS="1") as web:
        yield web


def unread(web: Web, path: str, times: int = 1) -> socket.socket:
    """Request a static file, and return the socket without reading the response."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(("127.0.0.1", web.port))
    client.sendall(times * f"GET /static/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return client


def connections(web: Web) -> int:
    """Count the established connections on the server's port that have unsent bytes."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = f":{web.port:04X}"
    return sum(row[1].endswith(local) and row[3] == "01" and row[4][:8] != "0" * 8 for row in rows)


def memory(web: Web) -> int:
    """Return the resident memory of the server's processes in MiB."""
    text = "".join((entry / "status").read_text() for entry in web.alive())
    return sum(int(line.split()[1]) for line in text.splitlines() if "VmRSS" in line) // 1024


def test_a_client_that_reads_nothing_holds_little_memory(patient_web: Web) -> None:
    before = memory(patient_web)
    clients = [unread(patient_web, LONG) for _ in range(CLIENTS)]
    wait_until(lambda: connections(patient_web) == CLIENTS)
    assert patient_web.answers()  # after the other requests
    assert memory(patient_web) - before < CLIENTS * 2
    for client in clients:
        client.close()


@stalled
def test_a_client_that_reads_nothing_loses_its_connection(web: Web, path: str, times: int) -> None:
    size = Path(str(finders.find(path))).stat().st_size
    with unread(web, path, times) as client:
        wait_until(lambda: connections(web) == 1)
        wait_until(lambda: connections(web) == 0, TIMEOUT + 30)
        received = 0
        with suppress(ConnectionResetError):
            while part := client.recv(1_000_000):
                received += len(part)
        assert received < times * size
    assert web.answers()


@stalled
def test_a_client_that_reads_nothing_does_not_delay_a_stop(
    patient_web: Web, path: str, times: int
) -> None:
    with unread(patient_web, path, times):
        wait_until(lambda: connections(patient_web) == 1)
        patient_web.signal(signal.SIGTERM)
        assert patient_web.wait(20) == 0
