"""The versions page shows authors and differences, and restores earlier versions."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, Instruction, Persona, Version
from chatbots.services import instruction as instructions
from tests.conftest import Api
from tests.factories.chatbots import InstructionFactory, PersonaFactory
from tests.factories.staff import signed_in
from tests.pages import submit


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    owner = chatbot.account.owner
    owner.name = "Kim"
    owner.save()
    return signed_in(owner)


@pytest.fixture
def row(chatbot: Chatbot) -> Instruction:
    return InstructionFactory(chatbot=chatbot, title="Support", instruction="one\ntwo\nthree")


def page_of(row: Instruction | Persona) -> str:
    return reverse(f"admin:chatbots_{row._meta.model_name}_versions", args=[row.pk])


def test_a_change_is_shown_line_by_line_with_its_author(client: Client, row: Instruction) -> None:
    change = reverse("admin:chatbots_instruction_change", args=[row.pk])
    assert page_of(row) in client.get(change).content.decode()
    submit(client, change, instruction="one\n<b>2</b>\nthree")
    page = client.get(page_of(row)).content.decode()
    assert "<ins>+ &lt;b&gt;2&lt;/b&gt;\n</ins>" in page
    assert "<del>- two\n</del>" in page
    assert "Kim, admin" in page


def test_changes_through_the_api_name_the_key(
    client: Client, api: Api, here: str, row: Instruction
) -> None:
    api.patch(f"{here}/instructions/{row.pk}", {"instruction": "new"})
    assert "API key cbk_" in client.get(page_of(row)).content.decode()


def test_any_two_versions_can_be_compared(client: Client, row: Instruction) -> None:
    for text in ("one\n2\nthree", "one\n2\n3"):
        instructions.update(row.chatbot_id, row.pk, {"instruction": text})
    page = client.get(page_of(row), {"old": "1", "new": "3"}).content.decode()
    assert "<del>- two\n</del><del>- three\n</del><ins>+ 2\n</ins><ins>+ 3\n</ins>" in page
    for unknown in ("9", "x", "9" * 5_000, "-1"):
        page = client.get(page_of(row), {"old": unknown, "new": unknown}).content.decode()
        assert "Restore this version" in page


def test_an_earlier_version_is_restored_as_the_newest_one(client: Client, row: Instruction) -> None:
    instructions.update(row.chatbot_id, row.pk, {"instruction": "new", "creativity_level": 1})
    button = reverse("admin:chatbots_instruction_restore", args=[row.pk])
    assert client.get(button).status_code == 302
    page = client.post(button, {"number": "1"}, follow=True).content.decode()
    assert "Version 1 was restored as version 3" in page
    row.refresh_from_db()
    assert (row.instruction, row.creativity_level, row.version) == ("one\ntwo\nthree", 0.5, 3)
    for unknown in ("9", "", "x"):
        page = client.post(button, {"number": unknown}, follow=True).content.decode()
        assert "version not found" in page
    assert Version.objects.filter(row_id=row.pk).count() == 3


def test_staff_of_another_account_find_no_versions(row: Instruction) -> None:
    stranger = signed_in(PersonaFactory().chatbot.account.owner)
    button = reverse("admin:chatbots_instruction_restore", args=[row.pk])
    instructions.update(row.chatbot_id, row.pk, {"instruction": "new"})
    assert stranger.get(page_of(row)).status_code == 302
    assert stranger.post(button, {"number": "1"}).status_code == 302
    row.refresh_from_db()
    assert row.instruction == "new"
