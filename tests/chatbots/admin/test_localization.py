"""A bot's text pages: groups of texts, missing texts, English originals, and copies to a locale."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.admin.localization import completeness, missing
from chatbots.models import Chatbot, Localization
from chatbots.texts import NAMES
from chatbots.texts.groups import GROUPS
from tests.factories.chatbots import ChatbotFactory, LocalizationFactory


@pytest.fixture
def french(chatbot: Chatbot) -> Localization:
    return LocalizationFactory(chatbot=chatbot, locale_code="fr", texts={"homeTitle": "Bonjour"})


def page_of(row: Localization) -> str:
    return reverse("admin:chatbots_localization_change", args=[row.pk])


def test_every_text_is_in_exactly_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(NAMES)
    assert all(GROUPS.values())


def test_a_text_is_missing_if_visitors_get_it_in_english(
    chatbot: Chatbot, french: Localization
) -> None:
    assert completeness(french) == f"fr 1 / {len(NAMES)}"
    assert "homeTitle" not in missing(french)
    german = LocalizationFactory(chatbot=chatbot, locale_code="de-AT")
    english = chatbot.localizations.get(locale_code="en")
    assert missing(german) == missing(english) == []


def test_copied_texts_fill_a_new_locale_but_replace_no_text_of_an_existing_one(
    client: Client, chatbot: Chatbot, french: Localization
) -> None:
    copy = reverse("admin:chatbots_localization_copy", args=[french.pk])
    assert client.get(copy).status_code == 302
    client.post(copy, {"locale_code": "fr-CA"})
    assert chatbot.localizations.get(locale_code="fr-CA").texts == {"homeTitle": "Bonjour"}
    german = LocalizationFactory(chatbot=chatbot, locale_code="de", texts={"homeTitle": "Hallo"})
    french.texts = {"homeTitle": "Salut", "cancel": "Annuler"}
    french.save()
    page = client.post(copy, {"locale_code": "de"}, follow=True).content.decode()
    assert "The texts of fr were copied to de" in page
    german.refresh_from_db()
    assert german.texts == {"homeTitle": "Hallo", "cancel": "Annuler"}


def test_texts_of_another_account_cannot_be_copied(client: Client) -> None:
    foreign = ChatbotFactory().localizations.get()
    copy = reverse("admin:chatbots_localization_copy", args=[foreign.pk])
    assert client.post(copy, {"locale_code": "fr"}).status_code == 302
    assert foreign.chatbot.localizations.count() == 1
