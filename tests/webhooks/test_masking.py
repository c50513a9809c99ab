"""Masking replaces a secret wherever it is quoted, and shows only its last characters."""

import json

import pytest

from webhooks import masking

AWKWARD = 'a/secret+with"quotes\\and/more'


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param(f"{AWKWARD}, {AWKWARD}.", "****more, ****more.", id="unchanged"),
        pytest.param(json.dumps([AWKWARD]), '["****more"]', id="in JSON"),
        pytest.param(json.dumps([AWKWARD]).replace("/", "\\/"), '["****more"]', id="in PHP's JSON"),
        pytest.param(f"it is {AWKWARD[:-1]}", "it is ****", id="cut off before its end"),
        pytest.param(f"it is {AWKWARD[:5]}", "it is ****", id="cut off after its beginning"),
        pytest.param(json.dumps([AWKWARD])[:-4], '["****', id="cut off within JSON"),
        pytest.param("it is a/se", "it is a/se", id="cut off after four characters"),
    ],
)
def test_a_quoted_secret_is_masked_even_if_it_is_cut_off(text: str, hidden: str) -> None:
    assert masking.hide(text, AWKWARD) == hidden


def test_a_mask_shows_only_the_last_four_characters() -> None:
    assert masking.mask("a-secret-of-a-webhook") == "****hook"
