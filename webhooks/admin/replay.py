"""Show a request's headers with the token masked, check its signature, and build a curl command."""

import json
import shlex

from webhooks import sealing, signing
from webhooks.models import Attempt, Delivery, Endpoint

REPLACED = "**** (replaced since)"
HMAC = 'openssl dgst -sha256 -hmac "$SECRET" -r | cut -d " " -f 1'


def readable(body: bytes | memoryview) -> str:
    """Decode bytes as UTF-8 for display, replacing invalid bytes."""
    return bytes(body).decode("utf-8", "replace")


def indented(body: bytes | memoryview) -> str:
    """Indent a JSON body to make it readable; return any other body unchanged."""
    try:
        return json.dumps(json.loads(bytes(body)), indent=2, ensure_ascii=False)
    except ValueError:
        return readable(body)


def request_headers(endpoint: Endpoint | None, attempt: Attempt | None) -> dict[str, str]:
    """Return the headers of an attempt, with the token masked. Specification: Request headers."""
    token = endpoint.masked_secret if endpoint else "****"
    if endpoint and attempt and attempt.started_at < endpoint.secret_made_at:
        token = REPLACED
    signature = (
        (attempt.signature or "not recorded") if attempt else "not computed until the first attempt"
    )
    return signing.headers_of(token=token, signature=signature)


def signature_verdict(
    delivery: Delivery, endpoint: Endpoint | None, attempt: Attempt | None
) -> tuple[bool | None, str]:
    """Recompute the signature of an attempt and describe whether it matches.

    The first value returned is None if the signature cannot be checked. The description is empty if
    nothing was signed.
    """
    if attempt is None or not attempt.signature:
        return None, ""
    if delivery.erased:
        return None, "cannot be checked: the content was erased"
    if endpoint is None:
        return None, "cannot be checked: the webhook was deleted"
    if attempt.started_at < endpoint.secret_made_at:
        return None, "cannot be checked: signed with an earlier secret"
    try:
        secret = sealing.unseal(endpoint.sealed_secret)
    except sealing.SealBroken:
        return None, "cannot be checked: no key of this service can decrypt the secret"
    if signing.signature(bytes(delivery.body), secret) == attempt.signature:
        return True, "recomputed now: matches (secret unchanged since)"
    return False, "recomputed now: does not match"


def curl_line(url: str, body: bytes | memoryview) -> str:
    """Return shell commands that send the same body again, signed with $SECRET."""
    signature = f'sha256=$(printf %s "$BODY" | {HMAC})'
    headers = signing.headers_of(token="$SECRET", signature=signature)  # noqa: S106 - its name
    options = " \\\n".join(f'  -H "{name}: {value}"' for name, value in headers.items())
    return (
        f"BODY={shlex.quote(readable(body))}\n"
        f'curl -X POST {shlex.quote(url)} \\\n{options} \\\n  --data-binary "$BODY"'
    )
