"""If two people edit the same row, the one who saves second is warned and loses no input."""

import pytest
from django.contrib import admin
from django.db import transaction
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import User
from chatbots.models import Chatbot, Instruction
from chatbots.services import instruction as instructions
from config.admin.conflict import ConflictForm
from tests.factories.chatbots import (
    InstructionFactory,
)
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of

TOLD = "Changed while you were editing"


class TitleForm(ConflictForm):
    class Meta:
        model = Instruction
        fields = ("title",)


@pytest.fixture
def client(db: None) -> Client:
    return signed_in(superuser())


@pytest.fixture
def row(chatbot: Chatbot) -> Instruction:
    return InstructionFactory(chatbot=chatbot, instruction="first")


@pytest.fixture
def address(row: Instruction) -> str:
    return reverse("admin:chatbots_instruction_change", args=[row.pk])


def test_the_second_person_sees_both_values_and_decides(
    client: Client, row: Instruction, address: str
) -> None:
    form = fields_of(client.get(address))
    instructions.update(row.chatbot_id, row.pk, {"instruction": "<b>theirs</b>"})
    answer = client.post(address, form | {"instruction": "mine"})
    text = answer.content.decode()
    assert TOLD in text
    assert "replace the saved value, which is: &lt;b&gt;theirs&lt;/b&gt;" in text
    assert fields_of(answer)["instruction"] == "mine"
    row.refresh_from_db()
    assert row.instruction == "<b>theirs</b>"
    assert client.post(address, fields_of(answer)).status_code == 302
    row.refresh_from_db()
    assert (row.instruction, row.version) == ("mine", 3)


def test_equal_changes_are_not_a_conflict(client: Client, row: Instruction, address: str) -> None:
    form = fields_of(client.get(address))
    instructions.update(row.chatbot_id, row.pk, {"instruction": "same"})
    assert client.post(address, form | {"instruction": "same"}).status_code == 302


def test_columns_that_a_form_does_not_show_keep_what_another_request_saved(
    row: Instruction,
) -> None:
    read_earlier = Instruction.objects.get(pk=row.pk)
    changes = {"is_active": True, "instruction": "theirs"}
    instructions.update(row.chatbot_id, row.pk, changes)
    given = {"title": row.title, "seen_at": read_earlier.updated_at.isoformat()}
    form = TitleForm(given, instance=read_earlier)
    with transaction.atomic():
        form.save()
    row.refresh_from_db()
    assert (row.is_active, row.instruction, row.version) == (True, "theirs", 2)


def test_a_row_deleted_during_the_save_is_not_stored_again(row: Instruction) -> None:
    read_earlier = Instruction.objects.get(pk=row.pk)
    row.delete()
    given = {"title": "mine", "seen_at": read_earlier.updated_at.isoformat()}
    form = TitleForm(given, instance=read_earlier)
    with transaction.atomic():
        assert form.non_field_errors() == ["Deleted while you were editing."]


def test_every_form_that_changes_rows_is_checked(
    rf: RequestFactory, admin_user: User, chatbot: Chatbot
) -> None:
    request = rf.get("/")
    request.user = admin_user
    forms = []
    for page in admin.site._registry.values():
        if page.has_change_permission(request):
            forms.append(page.form)
        for inline in page.get_inline_instances(request):
            if inline.has_change_permission(request):
                forms.append(inline.form)
    assert len(forms) > 12
    assert [form for form in forms if not issubclass(form, ConflictForm)] == []
