"""Mask secrets on pages, in responses and in the stored details of attempts."""

import json

MASK = "****"
VISIBLE = 4  # number of characters that stay readable at the end of a secret


def mask(secret: str) -> str:
    """Mask all but the end of a secret, so that people can tell secrets apart."""
    return MASK + secret[-VISIBLE:]


def hide(text: str, secret: str) -> str:
    """Mask a secret in a string, even if the secret is JSON-escaped or cut off at the end."""
    quoted = json.dumps(secret)[1:-1]
    for form in (secret, quoted, quoted.replace("/", r"\/")):
        text = text.replace(form, mask(secret))
        cut_off = [end for end in range(VISIBLE + 1, len(form)) if text.endswith(form[:end])]
        if cut_off:
            text = text[: -cut_off[-1]] + MASK
    return text
