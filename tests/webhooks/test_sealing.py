"""Secrets are sealed (encrypted) with the newest key, and older keys still unseal older secrets."""

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.fernet import Fernet

from webhooks import sealing
from webhooks.sealing import SealBroken

SECRET = "a-secret-of-a-webhook"
OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = (OLD,)


@pytest.mark.parametrize("text", ["", SECRET, "Grüße", "x" * 10_000])
def test_a_sealed_secret_is_unreadable_and_can_be_unsealed(text: str) -> None:
    sealed = sealing.seal(text)
    assert text == "" or text not in sealed
    assert sealing.unseal(sealed) == text


def test_the_old_key_still_unseals_and_is_not_needed_after_resealing(settings: Any) -> None:
    sealed = sealing.seal(SECRET)
    settings.ENCRYPTION_KEYS = (NEW, OLD)
    assert sealing.unseal(sealed) == SECRET
    assert not sealing.is_newest(sealed)
    fresh, renewed = sealing.seal(SECRET), sealing.reseal(sealed)
    settings.ENCRYPTION_KEYS = (NEW,)
    assert sealing.is_newest(renewed)
    assert sealing.unseal(fresh) == sealing.unseal(renewed) == SECRET


@pytest.mark.parametrize("open_", [sealing.unseal, sealing.reseal])
@pytest.mark.parametrize("broken", ["cut", "changed", "foreign", SECRET, "", "ü" * 40])
def test_a_secret_that_cannot_be_unsealed_is_an_error_without_details(
    settings: Any, open_: Callable[[str], str], broken: str
) -> None:
    sealed = sealing.seal(SECRET)
    if broken == "foreign":
        settings.ENCRYPTION_KEYS = (NEW,)
    changed = sealed[:40] + ("A" if sealed[40] != "A" else "B") + sealed[41:]
    spoilt = {"cut": sealed[:-8], "changed": changed, "foreign": sealed}
    with pytest.raises(SealBroken, match="decrypted with any of ENCRYPTION_KEYS") as caught:
        open_(spoilt.get(broken, broken))
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
