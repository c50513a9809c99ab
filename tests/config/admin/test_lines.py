"""Saving a page does not change the line breaks in fields that were not edited."""

import pytest
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.chatbots import InstructionFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import submit


@pytest.mark.parametrize("text", ["one\ntwo\n\nthree", "one"])
def test_browser_line_breaks_are_not_a_change(chatbot: Chatbot, text: str) -> None:
    row = InstructionFactory(chatbot=chatbot, instruction=text)
    address = reverse("admin:chatbots_instruction_change", args=[row.pk])
    answer = submit(signed_in(superuser()), address, instruction=text.replace("\n", "\r\n"))
    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.instruction, row.version) == (text, 1)
