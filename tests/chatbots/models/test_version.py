"""Each change that affects prompts creates a version, which records who made the change."""

from typing import Any

import pytest

from chatbots.models import Chatbot, GeneralSettings, Instruction, LlmModel, Persona, Version
from chatbots.models.version import VersionedRow, content_at
from chatbots.services import general_settings
from chatbots.services import instruction as instructions
from chatbots.services.chatbot import create_chatbot
from config.runtime.context import Context, acting
from tests.conftest import Api
from tests.contract.operations import OPERATIONS, Operation, call, ids_of
from tests.factories.chatbots import InstructionFactory

pytestmark = pytest.mark.django_db

VERSIONED: tuple[type[VersionedRow], ...] = (Instruction, Persona, GeneralSettings, LlmModel)
HARD = 'Zeile 1\r\nline 2 \u2028 \ud83d\ude00 "quoted" \\n {{x}} %s \t\n'.encode(
    "utf-16", "surrogatepass"
).decode("utf-16")


def versions(row: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return the numbers and contents of a row's versions, oldest first."""
    kept = Version.objects.filter(row_id=row.pk).order_by("number")
    return list(kept.values_list("number", "content"))


def assert_all_kept() -> None:
    """Assert that the current content of every row is stored under its version number."""
    for model in VERSIONED:
        for row in model._default_manager.all():
            assert content_at(row.pk, row.version) == row.content(), row


def test_each_change_creates_a_version_with_the_exact_text(chatbot: Chatbot) -> None:
    row = instructions.create(chatbot.pk, {"title": "Support", "instruction": "Be brief."})
    for text in (HARD, HARD + " ", "x" * 65_535):
        instructions.update(chatbot.pk, row.pk, {"instruction": text, "creativity_level": 0.1})
    kept = versions(row)
    assert [number for number, _ in kept] == [1, 2, 3, 4]
    texts = [content["instruction"] for _, content in kept]
    assert texts == ["Be brief.", HARD, HARD + " ", "x" * 65_535]
    assert kept[1][1]["creativity_level"] == 0.1
    row.refresh_from_db()
    assert row.version == 4


def test_a_change_that_does_not_affect_the_content_creates_no_version(chatbot: Chatbot) -> None:
    row = InstructionFactory(chatbot=chatbot)
    instructions.update(chatbot.pk, row.pk, {"instruction": row.instruction, "is_active": True})
    row.refresh_from_db()
    row.save()
    assert (row.version, len(versions(row))) == (1, 1)


def test_settings_and_models_have_versions(chatbot: Chatbot, default_model: LlmModel) -> None:
    general_settings.change(chatbot.pk, {"llm_model_id": default_model.pk, "description": HARD})
    row = GeneralSettings.objects.get(chatbot=chatbot)
    assert versions(row)[-1][1] == {
        "description": HARD,
        "history_message_context": 10,
        "llm_model": str(default_model.pk),
        "fallback_message": row.fallback_message,
    }
    default_model.sends_temperature = False
    default_model.save()
    assert [c["sends_temperature"] for _, c in versions(default_model)] == [True, False]
    created = create_chatbot(
        chatbot.account, creator_id=chatbot.account.owner_id, name="new", description=""
    )
    assert created.generalsettings.version == 1
    assert_all_kept()


def test_a_version_names_its_author(chatbot: Chatbot) -> None:
    row = InstructionFactory(chatbot=chatbot)
    with acting(Context(person=chatbot.account.owner_id, via="admin")):
        instructions.update(chatbot.pk, row.pk, {"instruction": "new"})
    first, second = Version.objects.filter(row_id=row.pk).order_by("number")
    assert (first.saved_by_id, first.saved_via) == (None, "service")
    assert (second.saved_by_id, second.saved_via) == (chatbot.account.owner_id, "admin")


def test_versions_outlive_their_row_but_not_their_chatbot(chatbot: Chatbot) -> None:
    row = InstructionFactory(chatbot=chatbot)
    key, content = row.pk, row.content()
    row.delete()
    assert content_at(key, 1) == content
    chatbot.delete()
    assert not Version.objects.filter(row_id=key).exists()


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_every_operation_stores_a_version_of_what_it_changes(
    api: Api, chatbot: Chatbot, operation: Operation
) -> None:
    ids = ids_of(chatbot)
    assert call(api, operation, ids).status_code == 200
    assert_all_kept()
