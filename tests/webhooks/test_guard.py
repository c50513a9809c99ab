import ipaddress
import socket
from typing import Any

import pytest

from config.outbound.failures import AddressNotAllowed
from tests.webhooks.addresses import (
    HOSTS,
    V4_FORBIDDEN,
    V4_PUBLIC,
    V6_FORBIDDEN,
    V6_PUBLIC,
)
from webhooks import guard


@pytest.fixture(autouse=True)
def _default_installation(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ()


def test_the_table_has_at_least_300_spellings() -> None:
    assert len(set(HOSTS)) >= 300


@pytest.mark.parametrize("address", [*V4_FORBIDDEN, *V6_FORBIDDEN])
def test_an_address_that_is_not_public_is_rejected(address: str) -> None:
    with pytest.raises(AddressNotAllowed, match="is not a public address"):
        guard.judge(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", [*V4_PUBLIC, *V6_PUBLIC])
def test_a_public_address_is_allowed(address: str) -> None:
    assert guard.judge(ipaddress.ip_address(address)) is None


def test_a_public_address_of_this_machine_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "is_public", lambda address: True)  # as if all addresses were public
    with pytest.raises(AddressNotAllowed, match="is an address of this machine"):
        guard.judge(ipaddress.ip_address("127.0.0.1"))


def test_an_address_of_this_machine_is_recognized() -> None:
    assert guard.is_own(ipaddress.ip_address("127.0.0.1"))
    assert not guard.is_own(ipaddress.ip_address("8.8.8.8"))
    assert not guard.is_own(ipaddress.ip_address("2606:4700:4700::1111"))


@pytest.mark.proves("Events")
@pytest.mark.parametrize("host", HOSTS)
def test_a_url_that_contains_a_forbidden_address_is_rejected(host: str) -> None:
    with pytest.raises(ValueError, match=r"^URL must "):
        guard.check_url(f"https://{host}/hook")
    with pytest.raises(ValueError, match=r"^URL must "):
        guard.check_url(f"https://{host}:8443")


@pytest.mark.parametrize("host", HOSTS)
def test_every_spelling_is_rejected_when_connecting_if_the_system_accepts_it(host: str) -> None:
    """Even if the URL check missed a spelling, the resolved address would be rejected."""
    try:
        read = socket.getaddrinfo(host.strip("[]").encode(), 443, flags=socket.AI_NUMERICHOST)
    except OSError:
        return
    for entry in read:
        with pytest.raises(AddressNotAllowed):
            guard.judge(ipaddress.ip_address(entry[4][0]))


@pytest.mark.proves("Events/3")
@pytest.mark.proves("Events")
@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("", "begin with https://"),
        ("hooks.example.com/a", "begin with https://"),
        ("http://hooks.example.com/a", "begin with https://"),
        ("HTTP://hooks.example.com/a", "begin with https://"),
        ("ftp://hooks.example.com/a", "begin with https://"),
        ("//hooks.example.com/a", "begin with https://"),
        ("https:hooks.example.com/a", "begin with https://"),
        ("https:/hooks.example.com/a", "begin with https://"),
        ("javascript:alert(1)", "begin with https://"),
        ("https://", "valid host"),
        ("https:///a", "valid host"),
        ("https://?a", "valid host"),
        ("https://.", "valid host"),
        ("https://.example.com", "valid host"),
        ("https://a..b", "valid host"),
        ("https://*.example.com", "valid host"),
        ("https://-a.example.com", "valid host"),
        ("https://a-.example.com", "valid host"),
        ("https://exa$mple.com", "valid host"),
        ("https://exa%6dple.com", "valid host"),
        ("https://a,b.example.com", "valid host"),
        (f"https://{'a' * 64}.example.com", "valid host"),
        (f"https://{'a.' * 127}com", "valid host"),
        ("https://☃.example.com", "valid host"),
        ("https://[2606:4700:4700::1111%25eth0]/", "valid host"),
        ("https://[hooks.example.com]/", "valid host"),
        ("https://user@hooks.example.com/", "user name"),
        ("https://user:password@hooks.example.com/", "user name"),
        ("https://@hooks.example.com/", "user name"),
        ("https://hooks.example.com@127.0.0.1/", "user name"),
        ("https://127.0.0.1:443@hooks.example.com/", "user name"),
        ("https://hooks.example.com/#", "fragment"),
        ("https://hooks.example.com/a#b", "fragment"),
        ("https://hooks.example.com#@127.0.0.1/", "fragment"),
        ("https://127.0.0.1\\@hooks.example.com/", "backslash"),
        ("https:\\\\hooks.example.com/", "backslash"),
        ("https://hooks.example.com\\.evil.example", "backslash"),
        ("https://hooks.example.com:0/", "port"),
        ("https://hooks.example.com:/", "port"),
        ("https://hooks.example.com:65536/", "port"),
        ("https://hooks.example.com:-1/", "port"),
        ("https://hooks.example.com:443:443/", "port"),
        ("https://hooks.example.com:https/", "port"),
        ("https://hooks.example.com:٤٤٣/", "port"),
        ("https://2606:4700:4700::1111/", "port"),
        ("https://[2606:4700:4700::1111]x/", "port"),
        (f"https://hooks.example.com/{'a' * (2_049 - 26)}", "at most 2,048 characters"),
        *((f"https://hooks.example.com/a{char}b", "white space") for char in " \t\r\n\v\f\0\x1f"),
        *((f"https://hooks.example.com/a{char}b", "white space") for char in "\x7f\x85\xa0\xad"),
        *((f"https://hooks{char}.example.com/", "white space") for char in "\u200b\u202e\u2028"),
        *((f"https://hooks.{char}example.com/", "white space") for char in "\ufeff\u3000\ud800"),
        (" https://hooks.example.com/", "white space"),
        ("https://hooks.example.com/\r\nX-Injected: 1", "white space"),
    ],
)
def test_a_url_that_breaks_a_rule_is_rejected_with_that_rule(url: str, rule: str) -> None:
    with pytest.raises(ValueError, match=f"^URL must .*{rule}"):
        guard.check_url(url)


@pytest.mark.proves("Events")
@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com",
        "https://hooks.example.com/",
        "HTTPS://Hooks.Example.COM/Path",
        "https://hooks.example.com:8443/a/b?c=d&e=f",
        "https://hooks.example.com?token=a@b:c",
        "https://hooks.example.com/a@b/c%20d;e",
        "https://hooks.example.com./",
        "https://bücher.example/straße",
        "https://xn--bcher-kva.example/",
        "https://my_hooks.example.com/",
        "https://intranet/",
        "https://8.8.8.8/",
        "https://134744072/",
        "https://[2606:4700:4700::1111]:8443/",
        "https://127.0.0.1.example.com/",
        "https://localhost.example.com/",
        f"https://hooks.example.com/{'a' * (2_048 - 26)}",
    ],
)
def test_a_url_that_may_be_public_is_accepted(url: str) -> None:
    assert guard.check_url(url) is None


@pytest.mark.parametrize(
    ("network", "allowed", "refused"),
    [
        ("127.0.0.0/8", ["127.0.0.1", "::ffff:127.0.0.1"], ["10.0.0.1", "::1", "::127.0.0.1"]),
        ("10.1.0.0/16", ["10.1.2.3", "::ffff:10.1.2.3"], ["10.2.0.1", "2002:a01:203::"]),
        ("fd00::/8", ["fd00::2"], ["fc00::2", "::1"]),
        ("64:ff9b::/96", ["64:ff9b::8.8.8.8"], ["64:ff9b:1::1"]),
        ("::/0", ["::1", "2002:7f00:1::"], ["127.0.0.1"]),
        ("0.0.0.0/0", ["127.0.0.1", "::ffff:127.0.0.1"], ["::1"]),
    ],
)
def test_allowing_a_network_allows_no_address_outside_it(
    settings: Any, network: str, allowed: list[str], refused: list[str]
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network(network),)
    for address in allowed:
        guard.judge(ipaddress.ip_address(address))
    for address in refused:
        with pytest.raises(AddressNotAllowed):
            guard.judge(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "127.1", "a.localhost."])
def test_a_url_in_an_allowed_network_is_accepted(settings: Any, host: str) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network("127.0.0.0/8"),)
    assert guard.check_url(f"https://{host}:8443/hook") is None
    with pytest.raises(ValueError, match="or to a network in WEBHOOK_ALLOWED_NETWORKS"):
        guard.check_url("https://10.0.0.1/hook")
