"""A chatbot's page and the pages that it links to."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Plan
from chatbots.models import (
    Chatbot,
    ChatbotMember,
    ConversationStarter,
    FollowUpPrompt,
    GeneralSettings,
    Instruction,
    LeadSettings,
    Localization,
)
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import (
    ChatbotMemberFactory,
    FollowUpPromptFactory,
    InstructionFactory,
    LeadSettingsFactory,
    LlmModelFactory,
    PersonaFactory,
)
from tests.pages import fields_of, submit

ADD = reverse("admin:chatbots_chatbot_add")


@pytest.fixture
def address(chatbot: Chatbot) -> str:
    return reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])


def stored(chatbot: Chatbot) -> list[dict[str, Any]]:
    """Return a chatbot, its general and lead settings and its prompts, without `updated_at`."""
    rows = [
        *Chatbot.objects.filter(pk=chatbot.pk).values(),
        *GeneralSettings.objects.filter(chatbot=chatbot).values(),
        *LeadSettings.objects.filter(chatbot=chatbot).values(),
        *FollowUpPrompt.objects.filter(chatbot=chatbot).values(),
    ]
    return [{k: v for k, v in row.items() if k != "updated_at"} for row in rows]


def test_a_chatbot_is_created_with_its_settings(client: Client, chatbot: Chatbot) -> None:
    given = {"account": str(chatbot.account_id), "name": " Second ", "description": "more"}
    answer = client.post(ADD, given)
    made = Chatbot.objects.get(name=" Second ")
    assert answer["Location"] == reverse("admin:chatbots_chatbot_change", args=[made.pk])
    assert made.created_by_user == chatbot.account.owner
    assert GeneralSettings.objects.filter(chatbot=made).exists()
    assert Localization.objects.filter(chatbot=made, locale_code="en").exists()


def test_the_quota_of_the_plan_also_applies_in_the_admin(client: Client, chatbot: Chatbot) -> None:
    Plan.objects.update(max_chatbots=1)
    given = {"account": str(chatbot.account_id), "name": "New", "description": "more"}
    assert "chatbot quota exceeded" in client.post(ADD, given).content.decode()


@pytest.mark.slow
def test_saving_an_unchanged_page_changes_nothing(
    client: Client, chatbot: Chatbot, address: str
) -> None:
    LeadSettingsFactory(
        chatbot=chatbot,
        lead_notification_email=["a@example.com", "b@example.com"],
        customer_form_field=[
            {"display_label": "Size", "field_name": "size", "field_type": "text", "required": True}
        ],
    )
    FollowUpPromptFactory(chatbot=chatbot)
    InstructionFactory(chatbot=chatbot)
    PersonaFactory(chatbot=chatbot)
    before = stored(chatbot)
    assert submit(client, address).status_code == 302
    assert stored(chatbot) == before


def test_settings_are_saved_from_the_page(client: Client, chatbot: Chatbot, address: str) -> None:
    model = LlmModelFactory(title="other")
    submit(
        client,
        address,
        **{
            "description": "new words",
            "generalsettings-0-description": "Be kind.",
            "generalsettings-0-llm_model": str(model.pk),
            "appearance-0-brand_primary_color": "#123abc",
        },
    )
    chatbot.refresh_from_db()
    assert chatbot.description == "new words"
    assert (chatbot.generalsettings.description, chatbot.generalsettings.llm_model) == (
        "Be kind.",
        model,
    )
    assert chatbot.appearance.brand_primary_color == "#123abc"


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("appearance-0-brand_primary_color", "red", "enter a color such as #1a2b3c"),
        ("generalsettings-0-history_message_context", "-1", "greater than or equal to 0"),
        (
            "leadsettings-0-lead_notification_email",
            "a@b.example\nx",
            "“x”: Expected an email address",
        ),
        (
            "leadsettings-0-customer_form_field",
            '[{"field_name": "Size"}]',
            "item 1, display_label: Required",
        ),
        ("leadsettings-0-customer_form_field", '{"a": 1}', "Expected array"),
    ],
)
def test_an_invalid_setting_is_named_and_nothing_is_saved(
    client: Client, chatbot: Chatbot, address: str, field: str, value: str, fault: str
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    before = stored(chatbot)
    page = submit(client, address, **{field: value, "description": "new words"})
    assert fault in page.content.decode()
    assert stored(chatbot) == before


def test_the_button_of_an_instruction_makes_it_the_only_active_one(
    client: Client, chatbot: Chatbot
) -> None:
    first = InstructionFactory(chatbot=chatbot, is_active=True)
    second = InstructionFactory(chatbot=chatbot)
    button = reverse("admin:chatbots_instruction_activate", args=[second.pk])
    assert client.get(button).status_code == 302
    client.post(button)
    active = Instruction.objects.filter(is_active=True)
    assert [row.pk for row in active] == [second.pk]
    page = reverse("admin:chatbots_instruction_change", args=[first.pk])
    submit(client, page, is_active="on", title="renamed")
    assert list(active.values_list("pk", flat=True)) == [second.pk]
    assert Instruction.objects.get(pk=first.pk).title == "renamed"


def test_an_instruction_that_is_not_deletable_is_kept(client: Client, chatbot: Chatbot) -> None:
    kept = InstructionFactory(chatbot=chatbot, deletable=False)
    gone = InstructionFactory(chatbot=chatbot)
    for row in (kept, gone):
        client.post(reverse("admin:chatbots_instruction_delete", args=[row.pk]), {"post": "yes"})
    assert [row.pk for row in Instruction.objects.all()] == [kept.pk]


@pytest.mark.slow
def test_only_changed_texts_are_stored_and_the_others_are_shown_as_shipped(
    client: Client, chatbot: Chatbot
) -> None:
    row = chatbot.localizations.get()
    address = reverse("admin:chatbots_localization_change", args=[row.pk])
    submit(client, address, homeTitle="Ahoy", retryButton=" Once more ")
    row.refresh_from_db()
    assert row.texts == {"homeTitle": "Ahoy", "retryButton": " Once more "}
    page = client.get(address)
    assert fields_of(page)["homeTitle"] == "Ahoy"
    assert row.complete_texts["cancel"] in page.content.decode()
    submit(client, address, homeTitle="")
    row.refresh_from_db()
    assert row.texts == {"retryButton": " Once more "}


@pytest.mark.parametrize("content", ["[]", "", '{"a": "\\u0000"}', "[" * 5_000, "{"])
def test_a_starter_that_the_api_rejects_is_rejected_in_the_admin_too(
    client: Client, chatbot: Chatbot, content: str
) -> None:
    address = reverse("admin:chatbots_conversationstarter_add")
    answer = client.post(address, {"chatbot": str(chatbot.pk), "content": content})
    assert answer.status_code == 200
    assert not ConversationStarter.objects.exists()


def test_a_members_role_is_chosen_and_other_roles_are_kept(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    user = MembershipFactory(account=chatbot.account).user
    row = ChatbotMemberFactory(chatbot=chatbot, user=user, role="Reviewer")
    assert '<select name="memberships-0-role"' in client.get(address).text
    for given, stored in (("", "Reviewer"), ("AGENT", "AGENT"), ("king", "AGENT")):
        changes = {"memberships-0-role": given} if given else {}
        submit(client, address, **changes)
        row.refresh_from_db()
        assert row.role == stored


@pytest.mark.parametrize(("role", "added"), [("MEMBER", True), ("SUPER_ADMIN", False)])
def test_only_people_without_access_by_their_role_can_be_added(
    client: Client, address: str, chatbot: Chatbot, *, role: str, added: bool
) -> None:
    user = MembershipFactory(account=chatbot.account, role=role).user
    form = fields_of(client.get(address))
    new = {"memberships-TOTAL_FORMS": "1", "memberships-0-chatbot": str(chatbot.pk)}
    new |= {"memberships-0-user": str(user.pk), "memberships-0-role": "AGENT"}
    answer = client.post(address, form | new)
    assert (answer.status_code == 302) is added
    assert ChatbotMember.objects.filter(chatbot=chatbot, user=user).exists() is added
    refused = "their role gives them access to every chatbot in the account"
    assert added or refused in answer.text
