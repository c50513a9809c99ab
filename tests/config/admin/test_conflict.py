"""If two people edit the same row, the one who saves second is warned and loses no input."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import transaction
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from chatbots.models import Chatbot, ConversationStarter, Instruction
from chatbots.services import general_settings
from chatbots.services import instruction as instructions
from config.admin.conflict import ConflictForm
from tests.factories.accounts import MembershipFactory, UserFactory
from tests.factories.chatbots import (
    ChatbotMemberFactory,
    FollowUpPromptFactory,
    InstructionFactory,
    LlmModelFactory,
)
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import EndpointFactory
from tests.pages import fields_of, submit

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


def test_each_tab_of_a_chatbot_is_checked(client: Client, chatbot: Chatbot) -> None:
    FollowUpPromptFactory(chatbot=chatbot)
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    form = fields_of(client.get(address))
    general_settings.change(chatbot.pk, {"description": "theirs"})
    answer = client.post(address, form | {"name": "mine"})
    assert "replace the saved value, which is: theirs" in answer.content.decode()
    chatbot.refresh_from_db()
    assert (chatbot.name != "mine", chatbot.generalsettings.description) == (True, "theirs")
    assert client.post(address, fields_of(answer)).status_code == 302
    chatbot.refresh_from_db()
    assert (chatbot.name, chatbot.generalsettings.description) == ("mine", "")


def test_a_form_without_seen_at_is_saved(client: Client, row: Instruction, address: str) -> None:
    submit(client, address, instruction="mine", seen_at="")
    row.refresh_from_db()
    assert row.instruction == "mine"


def change_other(row: Any, **changes: Any) -> None:
    type(row)._base_manager.filter(pk=row.pk).update(updated_at=timezone.now(), **changes)


def test_models_starters_plans_and_accounts_are_checked(client: Client, chatbot: Chatbot) -> None:
    starter = ConversationStarter.objects.create(chatbot=chatbot, content={})
    rows: list[tuple[Any, str, Any, str]] = [
        (LlmModelFactory(), "title", "theirs", "mine"),
        (starter, "content", {"a": "theirs"}, '{"a": "mine"}'),
        (chatbot.account.plan, "name", "theirs", "mine"),
        (chatbot.account, "name", "theirs", "mine"),
    ]
    for row, field, theirs, mine in rows:
        address = reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_change", args=[row.pk])
        form = fields_of(client.get(address))
        change_other(row, **{field: theirs})
        answer = client.post(address, form | {field: mine})
        assert TOLD in answer.text, row
        assert fields_of(answer)[field] == mine
        row.refresh_from_db()
        assert getattr(row, field) == theirs
        assert client.post(address, fields_of(answer)).status_code == 302


def test_a_person_is_checked_although_the_row_has_no_updated_at(client: Client) -> None:
    shown = UserFactory(name="Ann")
    address = reverse("admin:accounts_user_change", args=[shown.pk])
    form = fields_of(client.get(address))
    group = Group.objects.get(name="Agents")
    shown.groups.add(group)
    shown.last_login = timezone.now()
    shown.save()
    answer = client.post(address, form | {"name": "Bo"})
    assert "replace the saved value, which is: Agents" in answer.text
    assert client.post(address, fields_of(answer)).status_code == 302
    shown.refresh_from_db()
    assert (shown.name, shown.groups.count()) == ("Bo", 0)


def test_the_members_of_an_account_and_of_a_chatbot_are_checked(
    client: Client, chatbot: Chatbot
) -> None:
    membership = MembershipFactory(account=chatbot.account)
    member = ChatbotMemberFactory(chatbot=chatbot, user=membership.user)
    for row, parent in ((membership, chatbot.account), (member, chatbot)):
        address = reverse(
            f"admin:{parent._meta.label_lower.replace('.', '_')}_change", args=[parent.pk]
        )
        form = fields_of(client.get(address))
        name = "memberships-0-role"
        kept, theirs = row.role, "SUPER_ADMIN"
        change_other(row, role=theirs)
        answer = client.post(address, form)
        assert f"replace the saved value, which is: {theirs}" in answer.text, row
        assert fields_of(answer)[name] == kept
        assert client.post(address, fields_of(answer)).status_code == 302
        row.refresh_from_db()
        assert row.role == kept


def test_a_webhook_is_checked(client: Client, chatbot: Chatbot) -> None:
    address = reverse("admin:webhooks_endpoint_of", args=[chatbot.pk])
    first = fields_of(client.get(address)) | {"url": "https://mine.example/hook"}
    endpoint = EndpointFactory(chatbot=chatbot)
    assert "set up while you were filling in" in client.post(address, first, follow=True).text
    form = fields_of(client.get(address))
    change_other(endpoint, url="https://theirs.example/hook", failures_in_a_row=3)
    answer = client.post(address, form | {"url": "https://mine.example/hook"})
    assert "replace the saved value, which is: https://theirs.example/hook" in answer.text
    endpoint.refresh_from_db()
    assert endpoint.url == "https://theirs.example/hook"
    assert client.post(address, fields_of(answer)).status_code == 302
    endpoint.refresh_from_db()
    assert endpoint.url == "https://mine.example/hook"


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


def test_each_conflicting_field_counts_as_one_error_on_its_tab(
    client: Client, chatbot: Chatbot
) -> None:
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    form = fields_of(client.get(address))
    change_other(chatbot, name="theirs")
    change_other(chatbot.appearance, tooltip="theirs")
    mine = {"name": "mine", "appearance-0-tooltip": "mine"}
    text = client.post(address, form | mine).text
    assert re.findall(r">(\d+)<span class=\"unseen\"> errors?</span>", text) == ["1", "1"]
