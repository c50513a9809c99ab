"""The format of an API key: `cbk_<public part>_<secret><checksum>`.

The secret has 256 bits of entropy. Only the prefix (the part before the secret) and the key's
SHA-256 are stored. The checksum makes it possible to reject mistyped and random keys without a
query. This module does not use the database.

Open point: api-key-form.
"""

import hashlib
import secrets
import zlib
from string import ascii_letters, digits
from typing import NamedTuple

ALPHABET = digits + ascii_letters
MARK = "cbk"
PUBLIC_LENGTH = 8
SECRET_LENGTH = 43  # with an alphabet of 62 characters, this gives 256 bits of entropy
CHECK_LENGTH = 6


class NewKey(NamedTuple):
    """A new key: the text, which is shown once, and the prefix and digest, which are stored."""

    text: str
    prefix: str
    digest: str


def checksum(text: str) -> str:
    """Compute a key's checksum (its last six characters) from the characters before it."""
    number, made = zlib.crc32(text.encode()), ""
    for _ in range(CHECK_LENGTH):
        number, index = divmod(number, len(ALPHABET))
        made = ALPHABET[index] + made
    return made


def digest(text: str) -> str:
    """Compute the stored form of a key: its SHA-256, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def characters(length: int) -> str:
    """Return random characters from the operating system's secure random generator."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def make(prefix: str = "") -> NewKey:
    """Generate a new key with the given prefix, or with a random one by default."""
    prefix = prefix or f"{MARK}_{characters(PUBLIC_LENGTH)}"
    body = f"{prefix}_{characters(SECRET_LENGTH)}"
    text = body + checksum(body)
    return NewKey(text, prefix, digest(text))


def well_formed(text: str) -> bool:
    """Return whether a string has a key's length, begins with MARK and has a valid checksum."""
    if len(text) != len(MARK) + PUBLIC_LENGTH + SECRET_LENGTH + CHECK_LENGTH + 2:
        return False
    if not text.isascii() or not text.startswith(f"{MARK}_"):
        return False
    return checksum(text[:-CHECK_LENGTH]) == text[-CHECK_LENGTH:]


def prefix_of(text: str) -> str:
    """Return the prefix of a key. Returns any other string, such as a prefix, unchanged."""
    return text[: len(MARK) + 1 + PUBLIC_LENGTH] if well_formed(text) else text
