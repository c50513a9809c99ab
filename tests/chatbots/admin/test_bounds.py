"""If a form would give a chatbot too many rows of one kind, it shows an error and saves nothing."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, FollowUpPrompt, Localization
from chatbots.models.base import MOST
from tests.pages import fields_of, submit


@pytest.mark.slow
def test_the_last_free_row_is_saved_and_one_more_is_a_form_error(
    client: Client, chatbot: Chatbot
) -> None:
    present = Localization.objects.filter(chatbot=chatbot).count()
    names = [f"x-{number:03}" for number in range(present, MOST - 1)]
    rows = (Localization(chatbot=chatbot, locale_code=name) for name in names)
    Localization.objects.bulk_create(rows)
    address = reverse("admin:chatbots_localization_add")
    answer = submit(client, address, chatbot=str(chatbot.pk), locale_code="fr")
    assert (answer.status_code, Localization.objects.count()) == (302, MOST)
    answer = submit(client, address, chatbot=str(chatbot.pk), locale_code="it")
    assert f"a chatbot has at most {MOST} text sets" in answer.content.decode()
    assert Localization.objects.count() == MOST


def test_a_row_of_a_full_list_is_replaced(client: Client, chatbot: Chatbot) -> None:
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    FollowUpPrompt.objects.bulk_create(
        FollowUpPrompt(chatbot=chatbot, button_title="Prices", button_message="What does it cost?")
        for _ in range(MOST)
    )
    shown = int(fields_of(client.get(address))["follow_up_prompts-TOTAL_FORMS"])
    new = f"follow_up_prompts-{shown}"
    rows = {"follow_up_prompts-TOTAL_FORMS": str(shown + 1), f"{new}-rank": "1"}
    rows |= {f"{new}-button_title": "More", f"{new}-button_message": "More?"}
    answer = submit(client, address, **rows)
    assert f"a chatbot has at most {MOST} follow-up prompts" in answer.text
    rows["follow_up_prompts-0-DELETE"] = "on"
    assert submit(client, address, **rows).status_code == 302
    assert FollowUpPrompt.objects.count() == MOST
    assert FollowUpPrompt.objects.filter(button_title="More").count() == 1
