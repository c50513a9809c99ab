"""A chatbot's page and the pages that it links to."""

from typing import Any
from urllib.parse import urlencode

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
    LlmModel,
    Localization,
    Persona,
)
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import (
    ChatbotFactory,
    FollowUpPromptFactory,
    InstructionFactory,
    LeadSettingsFactory,
    LlmModelFactory,
    PersonaFactory,
)
from tests.factories.staff import signed_in, superuser
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


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"name": "Taken"}, "Must be unique within the account"),
        ({"description": "x" * 51}, "at most 50 characters"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_an_invalid_chatbot_is_rejected(
    client: Client, chatbot: Chatbot, changes: dict[str, str], fault: str
) -> None:
    ChatbotFactory(account=chatbot.account, name="Taken")
    given = {"account": str(chatbot.account_id), "name": "New", "description": "more"}
    assert fault in client.post(ADD, given | changes).content.decode()
    assert Chatbot.objects.filter(account=chatbot.account).count() == 2


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


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"link_text": "Shop"}, "Cannot provide both button fields and link fields"),
        ({"button_message": ""}, "Must provide either (buttonTitle + buttonMessage)"),
    ],
)
def test_a_prompt_is_either_a_button_or_a_link(
    client: Client, chatbot: Chatbot, address: str, fields: dict[str, str], fault: str
) -> None:
    FollowUpPromptFactory(chatbot=chatbot)
    changes = {f"follow_up_prompts-0-{name}": value for name, value in fields.items()}
    assert fault in submit(client, address, **changes).content.decode()


def test_the_button_of_an_instruction_makes_it_the_only_active_one(
    client: Client, chatbot: Chatbot
) -> None:
    first = InstructionFactory(chatbot=chatbot, is_active=True)
    second = InstructionFactory(chatbot=chatbot)
    button = reverse("admin:chatbots_instruction_activate", args=[second.pk])
    assert client.get(button).status_code == 405
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


def test_a_text_set_for_another_locale_can_be_added(client: Client, chatbot: Chatbot) -> None:
    address = f"{reverse('admin:chatbots_localization_add')}?chatbot={chatbot.pk}"
    submit(client, address, locale_code="de", homeTitle="Hallo")
    assert chatbot.localizations.get(locale_code="de").texts == {"homeTitle": "Hallo"}


def test_another_model_can_be_made_the_default(default_model: LlmModel) -> None:
    other = LlmModelFactory(title="other")
    signed_in(superuser()).post(reverse("admin:chatbots_llmmodel_make_default", args=[other.pk]))
    assert LlmModel.objects.get(is_default=True) == other


@pytest.fixture
def crowded(chatbot: Chatbot) -> Chatbot:
    """A chatbot with many rows of each kind, most of them very long."""
    big = {"text": "x" * 100_000}
    ConversationStarter.objects.bulk_create(
        [ConversationStarter(chatbot=chatbot, content=big) for _ in range(60)], batch_size=10
    )
    words = "y" * 60_000
    Instruction.objects.bulk_create(
        [Instruction(chatbot=chatbot, title=f"no {n}", instruction=words) for n in range(350)]
    )
    Persona.objects.bulk_create(
        [Persona(chatbot=chatbot, title=f"no {n}", instructions=words) for n in range(200)]
    )
    FollowUpPrompt.objects.bulk_create(
        [
            FollowUpPrompt(chatbot=chatbot, button_title=f"no {n}", button_message="Hello", rank=n)
            for n in range(200)
        ]
    )
    return chatbot


@pytest.mark.slow
def test_the_page_of_a_crowded_chatbot_is_small_and_can_be_saved(
    client: Client, crowded: Chatbot, address: str
) -> None:
    LeadSettingsFactory(chatbot=crowded)
    Instruction.objects.filter(title="no 0").update(is_active=True)
    page = client.get(address)
    assert len(page.content) < 600_000
    assert "no 0" in page.content.decode()  # the active instruction is on the first page
    assert len(fields_of(page)) < 300
    before = stored(crowded)
    assert client.post(address, fields_of(page)).status_code == 302
    assert stored(crowded) == before
    submit(client, f"{address}?follow_up_prompts-page=20", **{"follow_up_prompts-9-rank": "500"})
    assert FollowUpPrompt.objects.get(button_title="no 199").rank == 500
    assert FollowUpPrompt.objects.count() == 200
    for kind in ("instruction", "persona", "conversationstarter"):
        address = reverse(f"admin:chatbots_{kind}_changelist")
        rows = client.get(address, {"chatbot": str(crowded.pk)})
        assert (rows.status_code, len(rows.content) < 600_000) == (200, True), kind


@pytest.mark.parametrize("number", ["0", "-1", "x", "²", "9" * 5_000, "99"])
def test_an_invalid_page_number_shows_the_first_page(
    client: Client, chatbot: Chatbot, address: str, number: str
) -> None:
    *_, newest = InstructionFactory.create_batch(11, chatbot=chatbot)
    page = client.get(address, {"instructions-page": number})
    assert newest.title in page.content.decode()


def test_a_large_starter_is_changed_on_its_own_page(client: Client, chatbot: Chatbot) -> None:
    words = '"好" ' * 100_000
    row = ConversationStarter.objects.create(chatbot=chatbot, content={"text": words})
    address = reverse("admin:chatbots_conversationstarter_change", args=[row.pk])
    form = urlencode(fields_of(client.get(address)) | {"_save": "Save"})
    kind = "application/x-www-form-urlencoded"
    assert client.post(address, form, content_type=kind).status_code == 302
    row.refresh_from_db()
    assert row.content == {"text": words}


@pytest.mark.parametrize(
    "content", ["[]", '"text"', "", '{"a": "\\u0000"}', "[" * 5_000, "9" * 5_000, "{"]
)
def test_a_starter_that_the_api_rejects_is_rejected_in_the_admin_too(
    client: Client, chatbot: Chatbot, content: str
) -> None:
    address = reverse("admin:chatbots_conversationstarter_add")
    answer = client.post(address, {"chatbot": str(chatbot.pk), "content": content})
    assert answer.status_code == 200
    assert not ConversationStarter.objects.exists()


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


@pytest.mark.slow
def test_the_page_says_above_its_tabs_whether_the_stored_bot_is_active(
    client: Client, chatbot: Chatbot, address: str
) -> None:
    active, off = '<span class="state good">active</span>', '<span class="state bad">off</span>'
    page = client.get(address)
    assert (active in page.text, off in page.text) == (True, False)
    unsaved = {key: value for key, value in fields_of(page).items() if key != "is_active"}
    failed = client.post(address, unsaved | {"name": ""})
    assert (active in failed.text, off in failed.text) == (True, False)
    Chatbot.objects.update(is_active=False)
    page = client.get(address)
    assert (active in page.text, off in page.text) == (False, True)
