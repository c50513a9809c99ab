"""Encrypt secrets with the newest of ENCRYPTION_KEYS, and decrypt them with any of these keys."""

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class SealBroken(Exception):
    """Raised if no key can decrypt a secret. The message reveals nothing about the secret."""

    def __init__(self) -> None:
        super().__init__(
            "a stored secret cannot be decrypted with any of ENCRYPTION_KEYS: was a key removed?"
        )


def seal(text: str) -> str:
    """Encrypt a secret for storage."""
    return _ring(settings.ENCRYPTION_KEYS).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt a sealed secret. Raises SealBroken."""
    try:
        return _ring(settings.ENCRYPTION_KEYS).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SealBroken from None


def reseal(sealed: str) -> str:
    """Re-encrypt a sealed secret with the newest key. Raises SealBroken."""
    try:
        return _ring(settings.ENCRYPTION_KEYS).rotate(sealed.encode()).decode()
    except InvalidToken:
        raise SealBroken from None


def is_newest(sealed: str) -> bool:
    """Return whether the newest key can decrypt a sealed secret."""
    try:
        _ring(settings.ENCRYPTION_KEYS[:1]).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


@lru_cache(maxsize=8)
def _ring(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
