"""WEBHOOK_SECRET=… python3 verify.py "$X_SIGNATURE" < body: exits 0 if genuine, else 1."""

import hashlib
import hmac
import os
import sys


def is_genuine(body: bytes, signature: str, secret: str) -> bool:
    """Return whether the raw body was signed with the secret."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    # As bytes: compare_digest raises for non-ASCII text, which a forged header may contain.
    return hmac.compare_digest(f"sha256={digest}".encode(), signature.encode(errors="replace"))


if __name__ == "__main__":
    secret = os.environ.get("WEBHOOK_SECRET") or sys.exit("WEBHOOK_SECRET is not set")
    signature = sys.argv[1] if len(sys.argv) > 1 else ""
    sys.exit(0 if is_genuine(sys.stdin.buffer.read(), signature, secret) else 1)
