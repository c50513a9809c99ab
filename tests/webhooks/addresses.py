"""Addresses that webhooks may and may not reach, and ways to write them in a URL."""

# ruff: noqa: RUF001 - the tests need look-alike characters

import ipaddress
from collections.abc import Iterator


def words(text: str) -> list[str]:
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


def in_digits(text: str, zero: int, one: int) -> str:
    """Replace the ASCII digits in a string with those of another Unicode block."""
    return text.translate({48 + digit: one + digit - 1 if digit else zero for digit in range(10)})


def spellings(target: str) -> Iterator[str]:
    """Yield spellings that at least one program reads as this IPv4 address."""
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
