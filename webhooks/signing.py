"""Sign requests, so that receivers can verify their origin. Uses no settings and no database."""

import hashlib
import hmac
import re
import secrets

MIN_LENGTH = 16
MAX_LENGTH = 256
TOKEN, SIGNATURE = "X-WEBHOOK-TOKEN", "X-SIGNATURE"


def signature(body: bytes, secret: str) -> str:
    """Sign the exact bytes that are sent. Specification: Request headers, X-SIGNATURE."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def headers(body: bytes, secret: str) -> dict[str, str]:
    """Return the headers of a webhook request."""
    return headers_of(token=secret, signature=signature(body, secret))


def headers_of(*, token: str, signature: str) -> dict[str, str]:
    """Return the headers with the given token and signature, which may be placeholders.

    Specification: Request headers.
    """
    return {
        "Content-Type": "application/json",
        TOKEN: token,
        SIGNATURE: signature,
        "User-Agent": "Service-Webhooks/1.0",
    }


def check_secret(secret: str) -> None:
    """Raise ValueError unless a secret has a valid length and only visible ASCII characters.

    The error message states the rule.
    """
    if len(secret) < MIN_LENGTH:
        raise ValueError(f"secret must have at least {MIN_LENGTH} characters")
    if len(secret) > MAX_LENGTH:
        raise ValueError(f"secret must have at most {MAX_LENGTH} characters")
    if not re.fullmatch("[!-~]+", secret):
        raise ValueError("secret must consist of visible ASCII characters without spaces")


def make_secret() -> str:
    """Generate a secret of 256 random bits."""
    return secrets.token_urlsafe(32)
