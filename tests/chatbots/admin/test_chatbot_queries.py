"""Chatbot pages need no more queries with many rows than with few."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Change
from chatbots.models import (
    Chatbot,
    ChatbotMember,
    ConversationStarter,
    FollowUpPrompt,
    Instruction,
    Localization,
    Persona,
    Version,
)
from tests.factories import bulk
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import LeadSettingsFactory, PersonaFactory
from tests.factories.row import in_trail
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser

MANY = 200  # the maximum number of rows in each list of a bot
LISTED, FORM, BOT = 10, 20, 25  # maximum number of queries for each of these pages


def fill(chatbot: Chatbot, rows: int) -> None:
    """Create `rows` rows of each kind for a bot, a tenth as many members, and long histories."""
    numbers = range(rows)
    Instruction.objects.bulk_create(
        [Instruction(chatbot=chatbot, title=f"{n}", instruction="x") for n in numbers]
    )
    Persona.objects.bulk_create([Persona(chatbot=chatbot, title=f"{n}") for n in numbers])
    FollowUpPrompt.objects.bulk_create(
        [FollowUpPrompt(chatbot=chatbot, link_text="a", link_src=f"{n}") for n in numbers]
    )
    ConversationStarter.objects.bulk_create(
        [ConversationStarter(chatbot=chatbot, content={}) for _ in numbers]
    )
    Localization.objects.bulk_create(
        [Localization(chatbot=chatbot, locale_code=f"aa-{n}") for n in numbers]
    )
    ChatbotMember.objects.bulk_create(
        [ChatbotMember(chatbot=chatbot, user=UserFactory()) for _ in range(rows // 10)]
    )
    fill_histories(chatbot, rows * 50)


def fill_histories(chatbot: Chatbot, entries: int) -> None:
    """Create this many versions of an instruction, and as many audit entries for the account."""
    row = chatbot.instructions.first()
    assert row
    version = Version.objects.create(
        chatbot=chatbot, kind="instruction", row_id=row.pk, number=1, content={}
    )
    bulk.copy(version, entries - 1, {"number": "s.n + 1"})
    with in_trail():
        PersonaFactory(chatbot=chatbot)
    entry = Change.objects.filter(account=chatbot.account).latest("id")
    bulk.copy(entry, entries, {"object_pk": "'' || s.n"})


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


PAGES: dict[str, tuple[Callable[[Chatbot], str], int]] = {
    "chatbots": (lambda bot: reverse("admin:chatbots_chatbot_changelist"), LISTED),
    "chatbot": (lambda bot: reverse("admin:chatbots_chatbot_change", args=[bot.pk]), BOT),
    "try it": (lambda bot: reverse("admin:chatbots_chatbot_try", args=[bot.pk]), FORM),
    "instruction": (
        lambda bot: reverse(
            "admin:chatbots_instruction_change", args=[bot.instructions.earliest("id").pk]
        ),
        FORM,
    ),
    "versions": (
        lambda bot: reverse(
            "admin:chatbots_instruction_versions", args=[bot.instructions.earliest("id").pk]
        ),
        FORM,
    ),
    "persona": (
        lambda bot: reverse("admin:chatbots_persona_change", args=[bot.personas.earliest("id").pk]),
        FORM,
    ),
    "texts": (
        lambda bot: reverse(
            "admin:chatbots_localization_change", args=[bot.localizations.earliest("id").pk]
        ),
        FORM,
    ),
    "instructions": (lambda bot: reverse("admin:chatbots_instruction_changelist"), LISTED),
    "personas": (lambda bot: reverse("admin:chatbots_persona_changelist"), LISTED),
    "text sets": (lambda bot: reverse("admin:chatbots_localization_changelist"), LISTED),
    "starters": (lambda bot: reverse("admin:chatbots_conversationstarter_changelist"), LISTED),
    "changes": (lambda bot: reverse("admin:accounts_change_changelist"), LISTED),
}


@pytest.mark.slow
@pytest.mark.parametrize("as_superuser", [True, False], ids=["superuser", "staff"])
def test_the_number_of_queries_does_not_grow_with_the_number_of_rows(
    chatbot: Chatbot, as_superuser: bool
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    user = superuser() if as_superuser else staff(chatbot.account.owner, ACCOUNT_ADMINS)
    client = signed_in(user)
    fill(chatbot, 10)
    addresses = {name: address(chatbot) for name, (address, _) in PAGES.items()}
    for address in addresses.values():
        client.get(address)  # fills the process's caches
    few = {name: queries(client, address) for name, address in addresses.items()}
    for model in (Instruction, Persona, FollowUpPrompt, ConversationStarter, ChatbotMember):
        first = model._default_manager.filter(chatbot=chatbot).earliest("id").pk
        model._default_manager.exclude(pk=first).delete()
    Localization.objects.filter(locale_code__startswith="aa").delete()
    Version.objects.all().delete()
    fill(chatbot, MANY - 1)
    many = {name: queries(client, address) for name, address in addresses.items()}
    assert many == few
    over = {name: count for name, count in few.items() if count > PAGES[name][1]}
    assert not over
