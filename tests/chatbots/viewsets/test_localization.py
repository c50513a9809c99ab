import pytest

from chatbots.models import Chatbot, Localization
from chatbots.texts import NAMES, shipped_texts
from tests.conftest import Api
from tests.factories.chatbots import ChatbotFactory, LocalizationFactory
from tests.statements import counted

pytestmark = pytest.mark.proves("Appearance and localization", "Localization text set")


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/localization"


@pytest.mark.proves("Appearance and localization/localization", "Localization text set/record")
@pytest.mark.parametrize(
    ("locale_code", "language"), [("de", "de"), ("de-CH", "de"), ("fr", "en"), ("en-GB", "en")]
)
def test_every_set_contains_every_text_changed_or_as_shipped(
    api: Api, there: str, chatbot: Chatbot, locale_code: str, language: str
) -> None:
    ChatbotFactory()  # another chatbot's texts are not listed
    LocalizationFactory(
        chatbot=chatbot, locale_code=locale_code, texts={"homeTitle": "Mine", "cancel": ""}
    )
    data = api.get(there).json()["data"]
    assert data["count"] == len(data["data"]) == 2
    first, second = data["data"]
    assert (first["localeCode"], second["localeCode"]) == ("en", locale_code)
    assert {name: first[name] for name in NAMES} == shipped_texts("en")
    assert {name: second[name] for name in NAMES} == shipped_texts(language) | {"homeTitle": "Mine"}


def test_a_chatbot_without_sets_has_an_empty_list(api: Api, there: str, chatbot: Chatbot) -> None:
    Localization.objects.filter(chatbot=chatbot).delete()
    assert api.get(there).json()["data"] == {"data": [], "count": 0}


def test_any_number_of_sets_needs_the_same_queries(api: Api, there: str, chatbot: Chatbot) -> None:
    api.get(there)  # the first request also records the key's use
    counts = []
    for codes in ((), ("fr", "it", "nl")):
        for code in codes:
            LocalizationFactory(chatbot=chatbot, locale_code=code)
        with counted() as statements:
            assert api.get(there).status_code == 200
        counts.append(len(statements))
    assert counts[0] == counts[1]
