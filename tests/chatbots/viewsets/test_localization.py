import pytest

from chatbots.models import Chatbot, Localization
from chatbots.texts import NAMES, shipped_texts
from tests.chatbots.shapes import LOCALIZATION, check
from tests.conftest import Api
from tests.factories.chatbots import ChatbotFactory, LocalizationFactory
from tests.statements import counted

pytestmark = pytest.mark.proves("Appearance and localization", "Localization text set")


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/localization"


@pytest.mark.proves("Appearance and localization/localization", "Localization text set/record")
def test_every_set_contains_every_text(api: Api, there: str, chatbot: Chatbot) -> None:
    german = LocalizationFactory(chatbot=chatbot, locale_code="de")
    ChatbotFactory()
    answer = api.get(there)
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    data = answer.json()["data"]
    assert sorted(data) == ["count", "data"]
    assert data["count"] == len(data["data"]) == 2
    for record in data["data"]:
        check(record, LOCALIZATION)
        assert record["chatbotId"] == str(chatbot.pk)
        assert all(record[name] for name in NAMES)
    assert [record["localeCode"] for record in data["data"]] == ["en", "de"]
    assert data["data"][1]["id"] == str(german.pk)


@pytest.mark.parametrize(
    ("locale_code", "language"), [("de", "de"), ("de-CH", "de"), ("fr", "en"), ("en-GB", "en")]
)
def test_texts_that_were_not_changed_are_the_shipped_ones(
    api: Api, there: str, chatbot: Chatbot, locale_code: str, language: str
) -> None:
    Localization.objects.filter(chatbot=chatbot).delete()
    LocalizationFactory(
        chatbot=chatbot, locale_code=locale_code, texts={"homeTitle": "Mine", "cancel": ""}
    )
    [record] = api.get(there).json()["data"]["data"]
    expected = shipped_texts(language) | {"homeTitle": "Mine"}
    assert {name: record[name] for name in NAMES} == expected
    assert record["localeCode"] == locale_code


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
