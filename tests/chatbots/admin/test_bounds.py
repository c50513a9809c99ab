"""If a form would give a chatbot too many rows of one kind, it shows an error and saves nothing."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, FollowUpPrompt, Instruction, Localization, Persona
from chatbots.models.base import MOST
from tests.pages import fields_of, submit

FORMS = [
    (Instruction, "instructions", {"title": "One more", "instruction": "Answer."}),
    (Persona, "personas", {"title": "One more", "creativity_level": "0.5"}),
    (Localization, "text sets", {"locale_code": "fr"}),
]


def fill(model: Any, chatbot: Chatbot, *, free: int = 0) -> None:
    """Add rows to one of a chatbot's lists until only `free` more rows are allowed."""
    names = [f"x-{number:03}" for number in range(MOST - free)]
    present = model.objects.filter(chatbot=chatbot).count()
    rows = [model(chatbot=chatbot) for _ in names[present:]]
    for row, name in zip(rows, names, strict=False):
        row.locale_code = name  # has no effect on the other models
    model.objects.bulk_create(rows)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name", "fields"), FORMS)
def test_the_last_free_row_is_saved_and_one_more_is_a_form_error(
    client: Client, chatbot: Chatbot, model: Any, name: str, fields: dict[str, str]
) -> None:
    fill(model, chatbot, free=1)
    address = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_add")
    answer = submit(client, address, chatbot=str(chatbot.pk), **fields)
    assert (answer.status_code, model.objects.filter(chatbot=chatbot).count()) == (302, MOST)
    again = fields | ({"locale_code": "it"} if "locale_code" in fields else {})
    answer = submit(client, address, chatbot=str(chatbot.pk), **again)
    assert f"a chatbot has at most {MOST} {name}" in answer.content.decode()
    assert model.objects.filter(chatbot=chatbot).count() == MOST


def prompts_to_add(client: Client, address: str, count: int) -> dict[str, str]:
    """Return the fields that add follow-up prompts on a chatbot's page."""
    shown = int(fields_of(client.get(address))["follow_up_prompts-TOTAL_FORMS"])
    rows = {"follow_up_prompts-TOTAL_FORMS": str(shown + count)}
    for number in range(shown, shown + count):
        rows[f"follow_up_prompts-{number}-button_title"] = "More"
        rows[f"follow_up_prompts-{number}-button_message"] = "More?"
        rows[f"follow_up_prompts-{number}-rank"] = "1"
    return rows


@pytest.fixture
def address(chatbot: Chatbot) -> str:
    return reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])


def fill_with_prompts(chatbot: Chatbot, *, free: int = 0) -> None:
    fill(FollowUpPrompt, chatbot, free=free)
    FollowUpPrompt.objects.update(button_title="Prices", button_message="What does it cost?")


def test_a_row_of_a_full_list_is_replaced(client: Client, chatbot: Chatbot, address: str) -> None:
    fill_with_prompts(chatbot)
    rows = prompts_to_add(client, address, 1)
    answer = submit(client, address, **rows)
    assert f"a chatbot has at most {MOST} follow-up prompts" in answer.text
    rows["follow_up_prompts-0-DELETE"] = "on"
    assert submit(client, address, **rows).status_code == 302
    assert FollowUpPrompt.objects.count() == MOST
    assert FollowUpPrompt.objects.filter(button_title="More").count() == 1
