"""The versions page shows authors and differences, and restores earlier versions."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatbots.admin.versions import compare
from chatbots.llm.prompt import system_length
from chatbots.models import Chatbot, Instruction, Persona, Version, version
from chatbots.services import instruction as instructions
from tests.conftest import Api
from tests.factories.chatbots import InstructionFactory, PersonaFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser
from tests.pages import submit


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    owner = chatbot.account.owner
    owner.name = "Kim"
    return signed_in(staff(owner, ACCOUNT_ADMINS))


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
    assert client.get(button).status_code == 405
    page = client.post(button, {"number": "1"}, follow=True).content.decode()
    assert "Version 1 was restored as version 3" in page
    row.refresh_from_db()
    assert (row.instruction, row.creativity_level, row.version) == ("one\ntwo\nthree", 0.5, 3)
    for unknown in ("9", "", "x"):
        page = client.post(button, {"number": unknown}, follow=True).content.decode()
        assert "version not found" in page
    assert Version.objects.filter(row_id=row.pk).count() == 3


def test_personas_have_versions_too(client: Client, chatbot: Chatbot) -> None:
    row = PersonaFactory(chatbot=chatbot, instructions="old")
    change = reverse("admin:chatbots_persona_change", args=[row.pk])
    submit(client, change, instructions="new", description="words")
    assert "<del>- old\n</del>" in client.get(page_of(row)).content.decode()
    client.post(reverse("admin:chatbots_persona_restore", args=[row.pk]), {"number": "1"})
    row.refresh_from_db()
    assert (row.instructions, row.description, row.version) == ("old", None, 3)


def test_staff_of_another_account_find_no_versions(row: Instruction) -> None:
    stranger = signed_in(staff(PersonaFactory().chatbot.account.owner, ACCOUNT_ADMINS))
    button = reverse("admin:chatbots_instruction_restore", args=[row.pk])
    instructions.update(row.chatbot_id, row.pk, {"instruction": "new"})
    assert stranger.get(page_of(row)).status_code == 302
    assert stranger.post(button, {"number": "1"}).status_code == 302
    row.refresh_from_db()
    assert row.instruction == "new"


@pytest.mark.slow
def test_many_versions_are_listed_in_pages(row: Instruction) -> None:
    client = signed_in(superuser())
    client.get(page_of(row))

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page_of(row)).status_code == 200
        return len(captured)

    few = queries()
    for number in range(120):
        instructions.update(row.chatbot_id, row.pk, {"instruction": f"text {number}"})
    assert queries() == few <= 20
    page = client.get(page_of(row)).content.decode()
    assert 'href="?before=72"' in page
    assert page.count("Restore this version") == 49
    assert 'href="?before=22"' in client.get(page_of(row), {"before": "72"}).content.decode()


def test_each_kept_version_is_compared_with_the_kept_one_before_it(
    row: Instruction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version, "NEWEST_KEPT", 2)
    client = signed_in(superuser())
    for number in range(2, 7):
        instructions.update(row.chatbot_id, row.pk, {"instruction": f"text {number}"})
        if number == 3:
            Version.objects.filter(row_id=row.pk, number=number).update(used=True)
    page = client.get(page_of(row)).content.decode()
    assert [number for number in range(1, 7) if f"Compare from version {number}" in page] == [
        *(3, 5, 6)
    ]
    page = client.get(page_of(row), {"new": "5"}).content.decode()
    assert "What changed from version 3 to version 5" in page
    assert "<del>- text 3\n</del><ins>+ text 5\n</ins>" in page
    page = client.get(page_of(row), {"old": "4", "new": "5"}).content.decode()
    assert "Choose two versions to compare." in page
    button = reverse("admin:chatbots_instruction_restore", args=[row.pk])
    page = client.post(button, {"number": "4"}, follow=True).content.decode()
    assert "version not found" in page
    page = client.post(button, {"number": "3"}, follow=True).content.decode()
    assert "Version 3 was restored as version 7" in page
    row.refresh_from_db()
    assert row.instruction == "text 3"


def test_a_very_long_system_message_is_reported(client: Client, chatbot: Chatbot) -> None:
    texts = {"description": "", "instructions": "x" * 50_000}
    first = PersonaFactory(chatbot=chatbot, title="one", **texts)
    change = reverse("admin:chatbots_persona_change", args=[first.pk])
    submit(client, change, title="1")
    assert "more than many models accept" not in client.get(change).content.decode()
    PersonaFactory(chatbot=chatbot, title="two", **texts)
    PersonaFactory(chatbot=chatbot, title="off", is_active=False, **texts)
    submit(client, change, title="11")
    page = client.get(change).content.decode()
    assert "now has 100,005 characters, more than many models accept" in page
    assert system_length(chatbot.pk) == 100_005


def test_a_comparison_shows_only_the_lines_around_a_change() -> None:
    lines = [f"line {number}" for number in range(1_000)]
    changed = [*lines[:500], "new", *lines[501:]]
    found = compare("\n".join(lines), "\n".join(changed))
    assert [kind for kind, _ in found] == ["same"] * 3 + ["removed", "added"] + ["same"] * 3
