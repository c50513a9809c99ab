import re

import pytest

from chatbots.texts import NAMES, shipped_texts

pytestmark = pytest.mark.proves("Localization text set")
PLACEHOLDER = re.compile(r"\{\w*\}")


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_text_is_shipped_and_no_text_is_empty(language: str) -> None:
    texts = shipped_texts(language)
    assert sorted(texts) == sorted(NAMES)
    assert not [name for name, text in texts.items() if not text or text != text.strip()]


@pytest.mark.parametrize("language", ["en", "de"])
def test_only_the_two_formats_have_a_placeholder(language: str) -> None:
    held = {name: PLACEHOLDER.findall(text) for name, text in shipped_texts(language).items()}
    assert {name: found for name, found in held.items() if found} == {
        "minutesAgoFormat": ["{minutes}"],
        "hoursAgoFormat": ["{hours}"],
    }


@pytest.mark.parametrize(
    ("locale_code", "language"),
    [("de", "de"), ("de-AT", "de"), ("DE", "de"), ("en-GB", "en")],
)
def test_a_locale_has_the_texts_of_its_language(locale_code: str, language: str) -> None:
    assert shipped_texts(locale_code) == shipped_texts(language)


@pytest.mark.parametrize("locale_code", ["fr", "..", "../texts/de", ""])
def test_an_unknown_language_has_no_texts(locale_code: str) -> None:
    assert shipped_texts(locale_code) == {}
