"""The format of an API key."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts import keys

pytestmark = pytest.mark.proves("Authentication")


def test_a_key_starts_with_its_prefix_and_ends_with_its_checksum() -> None:
    made = keys.make()
    assert re.fullmatch(r"cbk_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}", made.text)
    assert made.text.startswith(f"{made.prefix}_")
    assert keys.well_formed(made.text)
    assert made.digest == keys.digest(made.text)
    assert made.text not in made.digest


@given(at=st.integers(0, 61), to=st.sampled_from(keys.ALPHABET))
def test_one_wrong_character_is_detected(at: int, to: str) -> None:
    text = "cbk_kMoZ1fT2_" + "a" * 43
    text += keys.checksum(text)
    changed = text[:at] + to + text[at + 1 :]
    assert keys.well_formed(changed) is (changed == text)


@given(text=st.text(max_size=80))
def test_arbitrary_text_is_not_a_well_formed_key(text: str) -> None:
    assert not keys.well_formed(text)
