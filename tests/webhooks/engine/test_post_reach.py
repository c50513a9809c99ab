"""An attempt never connects to a forbidden address, and reaches an allowed IPv6 address."""

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from config.outbound.failures import Reason
from tests.config.outbound.addresses import HOSTS
from tests.servers import certificates
from tests.servers.receiver import Receiver
from webhooks import signing
from webhooks.engine import post
from webhooks.engine.post import Outcome

BODY = b"{}"
AMPLE = 30.0
REFUSED = {Reason.URL_NOT_ALLOWED, Reason.ADDRESS_NOT_ALLOWED}


def send(url: str) -> Outcome:
    headers = signing.headers(BODY, "sixteen-letters!")
    return post.post(url, body=BODY, headers=headers, timeout=AMPLE)


@pytest.fixture
def everywhere() -> Iterator[tuple[int, tuple[socket.socket, socket.socket]]]:
    """Listen on the same port on all of this machine's addresses, without accepting connections."""
    with socket.create_server(("0.0.0.0", 0), backlog=1024) as one:
        port = one.getsockname()[1]
        try:
            two = socket.create_server(("::", port), family=socket.AF_INET6, backlog=1024)
        except OSError as error:
            pytest.skip(f"IPv6 is not available: {error}")
        with two:
            yield port, (one, two)


@pytest.fixture
def hostile_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve every name to the loopback addresses, without querying a name server."""
    ask = socket.getaddrinfo

    def answer(host: bytes | str, *args: Any, **options: Any) -> list[Any]:
        try:
            return ask(host, *args, **options, flags=socket.AI_NUMERICHOST)
        except OSError:
            here = ("127.0.0.1", "::1")
            return [entry for each in here for entry in ask(each, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@pytest.mark.usefixtures("hostile_names")
@pytest.mark.parametrize(
    "checked", [True, False], ids=["with the URL check", "without the URL check"]
)
def test_no_spelling_of_a_forbidden_address_is_connected_to(
    everywhere: tuple[int, tuple[socket.socket, socket.socket]],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    checked: bool,
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ()
    if not checked:
        monkeypatch.setattr(post, "check_url", lambda url: None)
    port, listeners = everywhere
    for host in HOSTS:
        assert send(f"https://{host}:{port}/hook").reason in REFUSED, host
    for listener in listeners:
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_receiver_on_ipv6_is_reached_if_it_is_allowed(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network("::1/128"),)
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    try:
        receiver = Receiver(certificates.good(), host="::1")
    except OSError as error:
        pytest.skip(f"IPv6 is not available: {error}")
    with receiver:
        assert send(receiver.url()).success
    assert receiver.arrivals[0].header("Host") == f"[::1]:{receiver.port}"
