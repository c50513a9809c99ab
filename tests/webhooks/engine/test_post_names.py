"""All addresses that a receiver's name resolves to are checked, and no others are used."""

import ipaddress
import socket
from typing import Any

import pytest

from config.outbound.failures import Reason
from tests.servers import certificates
from tests.servers.receiver import Receiver
from tests.webhooks.engine.sending import send

pytestmark = pytest.mark.usefixtures("trusting")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace name lookups with a dict that maps host names to addresses or to an exception."""
    known, ask = {}, socket.getaddrinfo

    def answer(host: bytes | str, *args: Any, **kwargs: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        if isinstance(known.get(name), Exception):
            raise known[name]
        return [
            entry for address in known.get(name, [host]) for entry in ask(address, *args, **kwargs)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return known


def test_the_certificate_and_the_host_header_use_the_name(names: dict[str, Any]) -> None:
    names["hooks.example.com"] = ["127.0.0.1"]
    seen, context = [], certificates.good_of_its_own()
    context.sni_callback = lambda sock, name, context: seen.append(name)
    with Receiver(context) as receiver:
        assert send(receiver.url(host="hooks.example.com")).success
        assert seen == ["hooks.example.com"]
        assert receiver.arrivals[0].header("Host") == f"hooks.example.com:{receiver.port}"
        names["other.example.net"] = ["127.0.0.1"]
        outcome = send(receiver.url(host="other.example.net"))
    assert outcome.reason == Reason.CERTIFICATE_NAME


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1"],
        ["127.0.0.1", "10.0.0.1"],
        ["10.0.0.1", "127.0.0.1"],
        ["127.0.0.1", "::1"],
        ["8.8.8.8", "169.254.169.254"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::a00:1"],
    ],
)
def test_one_forbidden_address_is_enough_to_reject_a_name(
    receiver: Receiver, names: dict[str, Any], addresses: list[str]
) -> None:
    names["hooks.example.com"] = addresses
    outcome = send(receiver.url(host="hooks.example.com"))
    assert (outcome.success, outcome.reason) == (False, Reason.ADDRESS_NOT_ALLOWED)
    assert receiver.connections == 0


def test_the_addresses_of_a_name_are_checked_at_every_attempt(
    receiver: Receiver, names: dict[str, Any]
) -> None:
    """The addresses are checked again even if a connection to an allowed address is still open."""
    url = receiver.url(host="hooks.example.com")
    for _ in range(50):
        names["hooks.example.com"] = ["127.0.0.1"]
        assert send(url).success
        names["hooks.example.com"] = ["10.0.0.1"]
        assert send(url).reason == Reason.ADDRESS_NOT_ALLOWED
    assert len(receiver.arrivals) == 50


def test_a_name_is_resolved_only_once_per_attempt(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The connection uses the checked address, even if a second lookup would return another one."""
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network("127.0.0.1/32"),)
    ask, asked = socket.getaddrinfo, []

    def turn(host: bytes | str, *args: Any, **kwargs: Any) -> list[Any]:
        asked.append(host)
        return ask("127.0.0.1" if len(asked) == 1 else "127.0.0.2", *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", turn)
    with Receiver(certificates.good(), host="127.0.0.2", port=receiver.port) as forbidden:
        assert send(receiver.url(host="hooks.example.com")).success
    assert asked == [b"hooks.example.com"]
    assert (receiver.connections, forbidden.connections) == (1, 0)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://127.0.0.1:{port}/", "https://"),
        ("https://user:secret@127.0.0.1:{port}/", "user name"),
        ("https://10.0.0.1:{port}/", "public address"),
    ],
)
def test_a_url_is_checked_again_when_it_is_used(receiver: Receiver, url: str, rule: str) -> None:
    outcome = send(url.format(port=receiver.port))
    assert (outcome.success, outcome.reason) == (False, Reason.URL_NOT_ALLOWED)
    assert rule in outcome.detail
    assert receiver.connections == 0


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (socket.gaierror(socket.EAI_NONAME, "not known"), Reason.NAME_NOT_FOUND),
        (socket.gaierror(socket.EAI_NODATA, "no address"), Reason.NAME_NOT_FOUND),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), Reason.NAME_LOOK_UP_FAILED),
    ],
)
def test_a_name_without_an_address_is_distinguished_from_a_failed_lookup(
    names: dict[str, Any], error: Exception, reason: str
) -> None:
    names["hooks.example.com"] = error
    assert send("https://hooks.example.com/").reason == reason
