"""Re-encrypt every stored secret with the newest of ENCRYPTION_KEYS."""

from collections.abc import Iterator

from webhooks import sealing
from webhooks.models import Endpoint

CHUNK = 500


def rotate() -> Iterator[bool]:
    """Re-encrypt the secrets of all endpoints.

    Yields one value for each secret: True if no key can decrypt it, and False otherwise. If a
    secret is replaced during the rotation, the new secret is left unchanged, because it is already
    encrypted with the newest key. After an interruption, or once a missing key has been restored,
    run the rotation again from the start.
    """
    rows = Endpoint.objects.order_by("pk").values_list("pk", "sealed_secret")
    for key, sealed in rows.iterator(chunk_size=CHUNK):
        if sealing.is_newest(sealed):
            yield False
            continue
        try:
            fresh = sealing.reseal(sealed)
        except sealing.SealBroken:
            yield True
            continue
        Endpoint.objects.filter(pk=key, sealed_secret=sealed).update(sealed_secret=fresh)
        yield False
