"""An attempt connects only to checked addresses, whatever the name service or environment says."""

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.outbound.failures import Reason
from tests.servers import certificates
from tests.servers.receiver import Receiver
from tests.webhooks.addresses import HOSTS
from tests.webhooks.engine.sending import send
from webhooks.engine import post
from webhooks.models.reason import in_words

pytestmark = pytest.mark.usefixtures("trusting")
NAME = "hooks.example.com"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace name lookups with a dict that maps host names to addresses or to an exception.

    Other hosts that are not addresses resolve to the loopback addresses.
    """
    known, ask = {}, socket.getaddrinfo

    def answer(host: bytes | str, *args: Any, **options: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        if isinstance(known.get(name), Exception):
            raise known[name]
        if name not in known:
            try:
                return ask(host, *args, **options, flags=socket.AI_NUMERICHOST)
            except OSError:
                pass
        addresses = known.get(name, ["127.0.0.1", "::1"])
        return [entry for address in addresses for entry in ask(address, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return known


def test_the_certificate_and_the_host_header_use_the_name(names: dict[str, Any]) -> None:
    names |= {NAME: ["127.0.0.1"], "other.example.net": ["127.0.0.1"]}
    seen, context = [], certificates.good_of_its_own()
    context.sni_callback = lambda sock, name, context: seen.append(name)
    with Receiver(context) as receiver:
        assert send(receiver.url(host=NAME)).success
        assert seen == [NAME]
        assert receiver.arrivals[0].header("Host") == f"{NAME}:{receiver.port}"
        outcome = send(receiver.url(host="other.example.net"))
    assert outcome.reason == Reason.CERTIFICATE_NAME


@pytest.mark.parametrize(
    "addresses",
    [
        *(["10.0.0.1"], ["127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1"]),
        *(["127.0.0.1", "::1"], ["8.8.8.8", "169.254.169.254"]),
        *(["::ffff:10.0.0.1"], ["64:ff9b::a00:1"]),
    ],
)
def test_one_forbidden_address_is_enough_to_reject_a_name(
    receiver: Receiver, names: dict[str, Any], addresses: list[str]
) -> None:
    names[NAME] = addresses
    outcome = send(receiver.url(host=NAME))
    assert (outcome.success, outcome.reason) == (False, Reason.ADDRESS_NOT_ALLOWED)
    assert receiver.connections == 0


def test_the_addresses_of_a_name_are_checked_at_every_attempt(
    receiver: Receiver, names: dict[str, Any]
) -> None:
    """The addresses are checked again even if a connection to an allowed address is still open."""
    url = receiver.url(host=NAME)
    for _ in range(50):
        names[NAME] = ["127.0.0.1"]
        assert send(url).success
        names[NAME] = ["10.0.0.1"]
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
        assert send(receiver.url(host=NAME)).success
    assert asked == [NAME.encode()]
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
    names[NAME] = error
    outcome = send(f"https://{NAME}/")
    assert (outcome.reason, outcome.detail) == (reason, NAME)
    words = in_words(outcome.reason, outcome.detail)
    assert words.replace(": ", " for ").startswith("DNS lookup failed")
    assert words.endswith(NAME)


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


@pytest.mark.usefixtures("names")
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
        reason = send(f"https://{host}:{port}/hook").reason
        assert reason in {Reason.URL_NOT_ALLOWED, Reason.ADDRESS_NOT_ALLOWED}, host
    for listener in listeners:
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_receiver_on_ipv6_is_reached_if_it_is_allowed(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network("::1/128"),)
    try:
        receiver = Receiver(certificates.good(), host="::1")
    except OSError as error:
        pytest.skip(f"IPv6 is not available: {error}")
    with receiver:
        assert send(receiver.url()).success
    assert receiver.arrivals[0].header("Host") == f"[::1]:{receiver.port}"


def test_proxies_and_credentials_of_the_environment_are_ignored(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    with Receiver() as proxy:
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        monkeypatch.setenv("NETRC", str(netrc))
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.setenv(name, os.devnull)
        assert send(receiver.url()).success
        assert proxy.connections == 0
    assert receiver.arrivals[0].header("Authorization") is None
