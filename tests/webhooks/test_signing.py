import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks import signing

SECRET = "sixteen-letters!"
PRINTABLE = "".join(map(chr, range(33, 127)))


@pytest.mark.proves("Request headers")
def test_a_known_signature_never_changes() -> None:
    """The example is test case 2 of RFC 4231."""
    assert signing.signature(b"what do ya want for nothing?", "Jefe") == (
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


@given(body=st.binary(), secret=st.text(PRINTABLE, min_size=16, max_size=256))
def test_every_body_is_signed_byte_for_byte(body: bytes, secret: str) -> None:
    expected = hmac.digest(secret.encode("ascii"), body, hashlib.sha256).hex()
    assert signing.signature(body, secret) == f"sha256={expected}"


@pytest.mark.proves("Authentication/7")
@pytest.mark.proves("Request headers")
def test_a_request_has_the_four_documented_headers() -> None:
    assert signing.headers(b"{}", SECRET) == {
        "Content-Type": "application/json",
        "X-WEBHOOK-TOKEN": SECRET,
        "X-SIGNATURE": signing.signature(b"{}", SECRET),
        "User-Agent": "Service-Webhooks/1.0",
    }


VISIBLE = "visible ASCII"
SHORT, LONG = "at least 16 characters", "at most 256 characters"
UNFIT = (" ", "\n", "\r\nX-Injected: 1", "\t", "\0", "\x7f", "\x80", "ü", "к", "\u0661", "\ud800")


@pytest.mark.proves("Events/3")
@pytest.mark.parametrize(
    ("secret", "rule"),
    [
        *(("", SHORT), ("a" * 15, SHORT), ("a" * 257, LONG), (" " + "a" * 16, VISIBLE)),
        *(("a" * 8 + unfit + "a" * 8, VISIBLE) for unfit in UNFIT),
        *(("a" * 16 + unfit, VISIBLE) for unfit in UNFIT),
    ],
)
def test_an_invalid_secret_is_rejected_with_the_rule(secret: str, rule: str) -> None:
    with pytest.raises(ValueError, match=f"^secret must .*{rule}"):
        signing.check_secret(secret)


@pytest.mark.parametrize("secret", ["a" * 16, "a" * 256, PRINTABLE])
def test_a_secret_that_fits_into_a_header_is_accepted(secret: str) -> None:
    assert signing.check_secret(secret) is None


@given(secret=st.text(max_size=300))
def test_no_accepted_secret_can_break_a_header(secret: str) -> None:
    try:
        signing.check_secret(secret)
    except ValueError:
        return
    assert 16 <= len(secret) <= 256
    assert set(secret) <= set(PRINTABLE)


def test_generated_secrets_are_valid_and_unique() -> None:
    made = {signing.make_secret() for _ in range(100)}
    assert len(made) == 100
    for secret in made:
        signing.check_secret(secret)
