"""Prevent server-side request forgery: restrict the addresses that webhooks may reach.

Webhooks may reach public addresses and the networks that the operator allows. `check_url` checks a
URL's text when it is saved, so that the user learns of errors immediately. This check cannot stop
DNS rebinding, in which a name later resolves to another address. Therefore, whenever a webhook is
sent, the transport also calls `judge` with every address that the host's name resolves to.
"""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from django.conf import settings
from requests.exceptions import RequestException
from requests.models import PreparedRequest

from config.outbound.deadline import Address
from config.outbound.failures import AddressNotAllowed

LONGEST_URL = 2_048  # characters
# Networks that are never public. In some versions of Python, ipaddress treats some of them as
# global.
NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "100.64.0.0/10",  # carrier-grade NAT
        "168.63.129.16",  # Azure's platform services, in every virtual network
        "192.0.0.0/24",  # IETF protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # local-use NAT64
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarking, ORCHID
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fec0::/10",  # site-local
    )
)
LOCAL_NAME = re.compile(r"(.*\.)?(localhost|localhost\.localdomain)")
LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
NAME = re.compile(rf"(?=.{{1,253}}$){LABEL}(\.{LABEL})*")
NUMBER = re.compile(r"(.*\.)?(\d+|0x[0-9a-f]*)")


# Addresses that no machine has. If a socket can bind even to these, binding proves nothing.
UNASSIGNED = {4: "203.0.113.1", 6: "2001:db8::1"}


def judge(address: Address) -> None:
    """Raise AddressNotAllowed for an address that webhooks must not reach."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    forms = (address, mapped) if mapped else (address,)
    if any(form in network for network in settings.WEBHOOK_ALLOWED_NETWORKS for form in forms):
        return
    if not is_public(address):
        raise AddressNotAllowed(f"{address} is not a public address")
    if is_own(address):
        raise AddressNotAllowed(f"{address} is an address of this machine")


def check_url(url: str) -> None:
    """Check that a URL is valid and allowed for webhooks.

    Raises ValueError, whose text names the broken rule. A host name that resolves to a forbidden
    address passes, because names are resolved only when a webhook is sent. Specification: Events,
    rule 3.
    """
    _check_text(url)
    authority = re.split("[/?]", url[len("https://") :], maxsplit=1)[0]
    if "@" in authority:
        raise ValueError("URL must not contain a user name or a password")
    port = re.fullmatch(r"(?:\[[^\[\]]*\]|[^:]*)(?::([0-9]{1,5}))?", authority)
    if not port or not 0 < int(port[1] or 443) < 65_536:
        raise ValueError("URL must have a port from 1 to 65535, or none")
    host = "" if "%" in authority else _host(url)
    try:
        shown = _shown_address(host)
        if shown:
            judge(shown)
    except AddressNotAllowed as error:
        raise ValueError(
            "URL must lead to a public address or to a network in WEBHOOK_ALLOWED_NETWORKS"
        ) from error
    if not shown and not NAME.fullmatch(host.removesuffix(".")):
        raise ValueError("URL must have a valid host")


def is_public(address: Address) -> bool:
    """Return whether an address is on the public internet and embeds no other address."""
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in network for network in NOT_PUBLIC)
    )


def is_own(address: Address) -> bool:
    """Return whether an address belongs to this machine, as far as that can be known."""
    return _is_given(str(address), address.version) and not _is_given(
        UNASSIGNED[address.version], address.version
    )


def _is_given(address: str, version: int) -> bool:
    # A socket can bind only to the machine's own addresses, unless net.ipv4.ip_nonlocal_bind allows
    # any address. Binding sends no packet.
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _check_text(url: str) -> None:
    if len(url) > LONGEST_URL:
        raise ValueError(f"URL must have at most {LONGEST_URL:,} characters")
    if any(char.isspace() or not char.isprintable() for char in url):
        raise ValueError("URL must not contain white space or control characters")
    if "\\" in url:
        raise ValueError("URL must not contain a backslash")
    if "#" in url:
        raise ValueError("URL must not contain a fragment")
    if not url.lower().startswith("https://"):
        raise ValueError("URL must begin with https://")


def _host(url: str) -> str:
    # Prepare the URL in the same way as for sending, so that the host checked is the one contacted.
    prepared = PreparedRequest()
    try:
        prepared.prepare_url(url, None)
        return urlsplit(prepared.url or "").hostname or ""
    except (RequestException, ValueError):
        return ""


def _shown_address(host: str) -> Address | None:
    """Parse a host that is an IP address in any notation. Returns None for a name.

    Treats localhost as 127.0.0.1, and does not resolve other names. Raises ValueError if the
    address is malformed.
    """
    bare = host.rstrip(".")
    if LOCAL_NAME.fullmatch(bare):
        return ipaddress.IPv4Address("127.0.0.1")
    try:
        if ":" in host:
            return ipaddress.IPv6Address(host)
        if NUMBER.fullmatch(bare):
            return ipaddress.IPv4Address(socket.inet_aton(bare))  # reads octal, hex and short forms
    except (ValueError, OSError):
        raise ValueError("URL must have a valid host") from None
    return None
