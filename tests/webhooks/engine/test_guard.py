# ruff: noqa: RUF001 - look-alikes are what is tested here
import ipaddress
import socket

import pytest

from config.outbound.failures import AddressNotAllowed
from webhooks.engine import guard


def words(text):
    return text.split()


V4_FORBIDDEN = words(
    """
    0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.1.2.3 10.255.255.255 100.64.0.1 100.100.100.200
    100.127.255.255 127.0.0.1 127.0.0.2 127.255.255.255 168.63.129.16 169.254.0.1 169.254.169.254
    169.254.170.2
    172.16.0.1 172.17.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170
    192.0.2.1 192.88.99.1 192.168.0.1 192.168.1.254 192.168.255.255 198.18.0.1 198.19.255.255
    198.51.100.7 203.0.113.7 224.0.0.1 224.0.0.251 233.252.0.1 239.255.255.250 240.0.0.1
    255.255.255.254 255.255.255.255
"""
)
V4_PUBLIC = words(
    """
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 99.255.255.255 100.63.255.255 100.128.0.0
    126.255.255.255 128.0.0.1 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.1
    172.15.255.255 172.32.0.1 191.255.255.255
    192.0.1.1 192.88.98.1 192.88.100.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1
    203.0.112.1 203.0.114.1 223.255.255.255
"""
)
V6_FORBIDDEN = words(
    """
    :: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
    ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1
    64:ff9b::8.8.8.8 64:ff9b:1::1 64:ff9b:1:ffff::a00:1 100::1 2001::1 2001:0:7f00:1::
    2001:0:53aa:64c:0:fbff:f5ff:fffe 2001:1::1 2001:2::1 2001:3::1 2001:10::1 2001:20::1 2001:db8::1
    2001:db8:ffff::1 2002:7f00:1:: 2002:a00:1::1 2002:808:808:: 3fff::1 3fff:fff:ffff::1 5f00::1
    5f00:ffff::1 fc00::1 fd00::2 fd12:3456:789a::1 fdff:ffff::1 fe80::1 fe80::a9fe:a9fe fe90::1
    febf::1 fec0::1 feff::1 ff00::1 ff02::1 ff02::fb ff05::1:3 ff0e::1 4000::1 8000::1 c000::1
"""
)
V6_PUBLIC = words(
    """
    2001:200::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2620:fe::fe 2a00:1450:4001::1
    3ffe::1 2c0f:f248::1
"""
)
TARGETS = words("127.0.0.1 10.0.0.1 169.254.169.254 172.16.5.4 192.168.1.1 0.0.0.0 100.64.0.1")


@pytest.fixture(autouse=True)
def _default_installation(settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = ()


def in_digits(text, zero, one):
    """Return a text with its digits from another Unicode block."""
    return text.translate({48 + digit: one + digit - 1 if digit else zero for digit in range(10)})


def spellings(target):
    """Yield the spellings in which some program reads one IPv4 address."""
    a, b, c, d = (int(part) for part in target.split("."))
    number = int(ipaddress.IPv4Address(target))
    numbers = (f"{number}", f"{number:#x}", f"{number:#X}", f"0{number:o}", f"0x{number:016x}")
    yield from (target, f"{target}.", f"{target}..", *numbers, *(f"{each}." for each in numbers))
    yield from (f"{a}.{number & 0xFFFFFF}", f"{a:#x}.{number & 0xFFFFFF:#x}")
    yield from (f"{a}.{b}.{number & 0xFFFF}", f"{a}.{b}.{number & 0xFFFF:#x}")
    yield from (f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}")
    yield from (f"{a:#x}.{b}.0{c:o}.{d}", f"000{a:o}.0{b:o}.{c}.{d}", f"{a}.{b}.{c}.{d:#x}")
    yield from (in_digits(target, 0xFF10, 0xFF11), in_digits(target, 0x24EA, 0x2460))
    yield from (in_digits(target, 0x660, 0x661), *(target.replace(".", dot) for dot in "。．｡"))
    yield from (target.replace(".", "%2e"), f"%{ord(target[0]):x}{target[1:]}", f"[{target}]")
    yield from (f"[::{target}]", f"[::ffff:{target}]", f"[0:0:0:0:0:FFFF:{target}]")
    yield from (f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]", f"[::ffff:0:{target}]")
    yield from (f"[64:ff9b::{target}]", f"[64:ff9b:1::{target}]", f"[::{target}%25lo]")
    yield f"[{ipaddress.IPv6Address(0x2002 << 112 | number << 80)}]"  # 6to4
    yield f"[{ipaddress.IPv6Address(0x20010000 << 96 | number ^ 0xFFFFFFFF)}]"  # Teredo


HOSTS = [
    *(spelling for target in TARGETS for spelling in spellings(target)),
    *(f"[{address}]" for address in V6_FORBIDDEN),
    *words(
        """
    localhost LOCALHOST LocalHost localhost. localhost.. a.localhost a.b.localhost.
    localhost.localdomain ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ loc%61lhost
    [::1%25lo] [::1%lo] [fe80::1%25eth0]
    [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [::1 [::1]] [] [::g]
    0 0x0 00 0x 1 127.1 127.0.1 127.0x1 1.2.3.4.5 256.1.1.1 09.0.0.1 1.2.3.0x
    4294967296 0x1ffffffff
    """
    ),
]


def test_the_table_is_large_enough():
    assert len(set(HOSTS)) >= 300


@pytest.mark.parametrize("address", [*V4_FORBIDDEN, *V6_FORBIDDEN])
def test_an_address_that_is_not_public_is_rejected(address):
    with pytest.raises(AddressNotAllowed, match="is not a public address"):
        guard.judge(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", [*V4_PUBLIC, *V6_PUBLIC])
def test_a_public_address_is_allowed(address):
    assert guard.judge(ipaddress.ip_address(address)) is None


def test_a_public_address_of_this_machine_is_rejected(monkeypatch):
    monkeypatch.setattr(guard, "is_public", lambda address: True)  # as if it had such an address
    with pytest.raises(AddressNotAllowed, match="is an address of this machine"):
        guard.judge(ipaddress.ip_address("127.0.0.1"))


def test_an_address_of_this_machine_is_recognised():
    assert guard.is_own(ipaddress.ip_address("127.0.0.1"))
    assert not guard.is_own(ipaddress.ip_address("8.8.8.8"))
    assert not guard.is_own(ipaddress.ip_address("2606:4700:4700::1111"))


@pytest.mark.proves("Events")
@pytest.mark.parametrize("host", HOSTS)
def test_a_url_that_contains_a_forbidden_address_is_rejected(host):
    with pytest.raises(ValueError, match=r"^URL must "):
        guard.check_url(f"https://{host}/hook")
    with pytest.raises(ValueError, match=r"^URL must "):
        guard.check_url(f"https://{host}:8443")


@pytest.mark.parametrize("host", HOSTS)
def test_every_spelling_is_rejected_when_connecting_if_the_system_accepts_it(host):
    """The text is never trusted, so this holds even if a check of the text is wrong."""
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
def test_a_url_that_breaks_a_rule_is_rejected_with_that_rule(url, rule):
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
def test_a_url_that_may_be_public_is_accepted(url):
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
def test_an_allowed_network_opens_only_itself(settings, network, allowed, refused):
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network(network),)
    for address in allowed:
        guard.judge(ipaddress.ip_address(address))
    for address in refused:
        with pytest.raises(AddressNotAllowed):
            guard.judge(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "127.1", "a.localhost."])
def test_a_url_in_an_allowed_network_is_accepted(settings, host):
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network("127.0.0.0/8"),)
    assert guard.check_url(f"https://{host}:8443/hook") is None
    with pytest.raises(ValueError, match="public address"):
        guard.check_url("https://10.0.0.1/hook")
