"""Demo data: two accounts with bots and conversations.

A run reuses the rows that earlier runs created. Every run issues new API keys and sets a new admin
password.
"""

import secrets
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction

from accounts.models import Account, ApiKey, Membership, Plan, User
from accounts.permissions import CHATBOT_VIEW, Role
from accounts.services import api_key
from accounts.services.user import find_or_create_user
from chatbots.models import (
    Chatbot,
    ChatbotMember,
    FollowUpPrompt,
    Instruction,
    LlmModel,
    Localization,
    Persona,
)
from chatbots.services import general_settings
from chatbots.services.chatbot import create_chatbot
from config.database.prepared import insert
from conversations.access import lock_thread
from conversations.models import Thread
from conversations.models.message import MessageType
from conversations.services import history, threads

ADMIN_EMAIL = "admin@example.com"
KEY_LABEL = "demo"
SHOP_TALK = (
    (MessageType.USER_MESSAGE, "Do you deliver on Saturdays?"),
    (MessageType.AI_MESSAGE, "Yes: orders placed by noon on Friday arrive on Saturday."),
    (MessageType.USER_MESSAGE, "And what does it cost?"),
    (MessageType.AI_MESSAGE, "Delivery is free above 40 euros. Below that, it costs 4.90 euros."),
    (MessageType.USER_MESSAGE, "Can I change the address after ordering?"),
    (MessageType.AI_MESSAGE, "Yes, until the parcel is packed. Tell me your order number."),
)
TABLE_TALK = (
    (MessageType.USER_MESSAGE, "Do you have a table for four tonight?"),
    (MessageType.AI_MESSAGE, "Yes, at seven or at nine. Which suits you?"),
    (MessageType.USER_MESSAGE, "Nine, please. Is there anything vegan?"),
    (MessageType.AI_MESSAGE, "Yes, five dishes. They are marked on the menu."),
)
FACTS = Path(__file__).parent / "demo_facts"
Record = dict[str, Any]


class Talk(NamedTuple):
    """A demo conversation: its visitor, its number of messages, and the lines that it repeats."""

    visitor_id: str
    name: str
    messages: int
    words: tuple[tuple[MessageType, str], ...] = SHOP_TALK


def facts_of(name: str) -> str:
    """Return the facts that a demo bot answers from."""
    return (FACTS / f"{name}.txt").read_text()


def active_user(email: str, *, name: str) -> User:
    """Find or create a user. Reactivates a deactivated user, so that new credentials work."""
    user = find_or_create_user(email, name=name)
    if not user.is_active:
        user.is_active = True
        user.save(update_fields=["is_active"])
    return user


def person(
    account: Account, email: str, name: str, *, role: Role, permissions: tuple[str, ...] = ()
) -> User:
    """Find or create a user and, unless the role is owner, the user's account membership."""
    user = active_user(email, name=name)
    if role != Role.OWNER:
        Membership.objects.get_or_create(
            account=account, user=user, defaults={"role": role, "permissions": list(permissions)}
        )
    return user


def account_of(name: str, plan: str, owner_email: str, owner_name: str) -> Account:
    """Find or create an account and its owner."""
    owner = active_user(owner_email, name=owner_name)
    found = Account.objects.filter(name=name, owner=owner).first()
    return found or Account.objects.create(name=name, owner=owner, plan=Plan.objects.get(name=plan))


def furnish(chatbot: Chatbot, description: str) -> None:
    """Give a new bot facts, instructions, a persona, follow-up prompts and a German text set."""
    general_settings.change(chatbot.pk, {"description": description})
    Instruction.objects.create(
        chatbot=chatbot,
        title="Support",
        instruction="Answer questions about orders and delivery. Be brief and friendly.",
        is_active=True,
        deletable=False,
    )
    Instruction.objects.create(
        chatbot=chatbot, title="Sales", instruction="Recommend products that fit the question."
    )
    Persona.objects.create(
        chatbot=chatbot,
        title="Shop assistant",
        description="Knows the catalog and the delivery terms.",
        instructions="Speak like a helpful shop assistant.",
    )
    FollowUpPrompt.objects.create(
        chatbot=chatbot,
        rank=1,
        button_title="Talk to a person",
        button_message="I would like to talk to a person.",
        esclate=True,
    )
    FollowUpPrompt.objects.create(
        chatbot=chatbot, rank=2, link_text="Delivery terms", link_src="https://example.com/delivery"
    )
    Localization.objects.create(chatbot=chatbot, locale_code="de")


def converse(chatbot: Chatbot, talk: Talk) -> Thread:
    """Start a conversation and fill it with messages."""
    begun = threads.create(chatbot.pk, {"visitor_id": talk.visitor_id, "visitor_name": talk.name})
    with transaction.atomic():
        thread = lock_thread(begun.pk)
        model = LlmModel.objects.filter(is_default=True).first()
        for kind, content in islice(cycle(talk.words), talk.messages):
            fields: dict[str, Any] = {"llm_model": model} if kind == MessageType.AI_MESSAGE else {}
            if kind == MessageType.USER_MESSAGE:
                message = history.new_from_visitor(thread, content)
                assert message  # the thread was created here
                insert(message)
                thread = message.thread
            else:
                history.append(thread, kind, content, **fields)
        thread.visitor.total_messages += thread.visitor_messages_count
        thread.visitor.save(update_fields=["total_messages"])
    return thread


def bot_of(account: Account, name: str, description: str, facts: str, talk: Talk) -> Chatbot:
    """Find a bot by name, or create one with settings and a conversation."""
    found = Chatbot.objects.filter(account=account, name=name).first()
    if found:
        return found
    chatbot = create_chatbot(
        account, creator_id=account.owner_id, name=name, description=description
    )
    furnish(chatbot, facts)
    converse(chatbot, talk)
    return chatbot


def user_record(account: Account, user: User) -> Record:
    """Issue a demo API key to a user, and return the user's record for `seed_demo --json`.

    Revokes the user's demo keys from earlier runs.
    """
    ApiKey.objects.filter(user=user, label=KEY_LABEL).revoke()
    _, key = api_key.issue(user, label=KEY_LABEL)
    membership = Membership.objects.filter(account=account, user=user).first()
    added = ChatbotMember.objects.filter(user=user, chatbot__account=account)
    return {
        "userId": user.pk,
        "email": user.email,
        "role": membership.role if membership else Role.OWNER,
        "permissions": membership.permissions if membership else [],
        "apiKey": key,
        "chatbotIds": list(added.values_list("chatbot_id", flat=True)),
    }


def chatbot_record(chatbot: Chatbot) -> Record:
    """Return a bot's record for `seed_demo --json`."""
    prompts = FollowUpPrompt.objects.filter(chatbot=chatbot)
    talks = Thread.objects.filter(chatbot=chatbot).order_by("created_at", "id")
    return {
        "chatbotId": chatbot.pk,
        "name": chatbot.name,
        "instructionIds": list(
            Instruction.objects.filter(chatbot=chatbot).values_list("pk", flat=True)
        ),
        "personaIds": list(Persona.objects.filter(chatbot=chatbot).values_list("pk", flat=True)),
        "followUpPromptIds": {
            "button": prompts.exclude(button_title="").values_list("pk", flat=True).first(),
            "link": prompts.exclude(link_text="").values_list("pk", flat=True).first(),
        },
        "localeCodes": list(
            Localization.objects.filter(chatbot=chatbot).values_list("locale_code", flat=True)
        ),
        "threads": [
            {
                "threadId": thread.pk,
                "visitorId": thread.visitor.external_id,
                "messageCount": thread.last_position,
            }
            for thread in talks.select_related("visitor")
        ],
    }


def account_record(account: Account, people: list[User], bots: list[Chatbot]) -> Record:
    """Return an account's record for `seed_demo --json`, with new API keys for its users."""
    return {
        "accountId": account.pk,
        "accountName": account.name,
        "plan": account.plan.name,
        "users": [user_record(account, user) for user in people],
        "chatbots": [chatbot_record(chatbot) for chatbot in bots],
    }


def scale_account() -> Record:
    """Find or create the account that has a user in each role, and return its record."""
    account = account_of("Acme", "Scale", "owner@acme.example", "Olivia Owner")
    people = [
        account.owner,
        person(account, "admin@acme.example", "Sam Admin", role=Role.SUPER_ADMIN),
        person(account, "agent@acme.example", "Kim Agent", role=Role.MEMBER),
        person(
            account,
            "viewer@acme.example",
            "Vic Viewer",
            role=Role.MEMBER,
            permissions=(CHATBOT_VIEW,),
        ),
    ]
    # The API lists the newest chatbot first, so the shop is created last.
    help_desk = bot_of(
        account,
        "Help desk",
        "Helps with accounts",
        facts_of("help_desk"),
        Talk("visitor-ben", "Ben C.", 45),
    )
    shop = bot_of(
        account,
        "Shop",
        "Answers questions about orders",
        facts_of("shop"),
        Talk("visitor-anna", "Anna B.", 45),
    )
    ChatbotMember.objects.get_or_create(chatbot=shop, user=people[2], defaults={"role": "AGENT"})
    return account_record(account, people, [shop, help_desk])


def starter_account() -> Record:
    """Find or create the small second account, and return its record."""
    account = account_of("Globex", "Starter", "owner@globex.example", "Gus Owner")
    bot = bot_of(
        account,
        "Concierge",
        "Books tables",
        facts_of("table"),
        Talk("visitor-cleo", "Cleo D.", 6, TABLE_TALK),
    )
    return account_record(account, [account.owner], [bot])


def administrator() -> tuple[User, str]:
    """Find or create the superuser, and set a new password."""
    password = secrets.token_urlsafe(12)
    user = active_user(ADMIN_EMAIL, name="Administrator")
    user.is_superuser = True
    user.set_password(password)
    user.save()
    return user, password


def models() -> list[Record]:
    """Ensure that an inactive model exists, and return the records of all models."""
    LlmModel.objects.get_or_create(
        provider=LlmModel.OFFLINE, title="Retired demo model", defaults={"is_active": False}
    )
    return [
        {"id": row.pk, "provider": row.provider, "title": row.title, "isActive": row.is_active}
        for row in LlmModel.objects.order_by("-is_active", "-is_default", "created_at")
    ]


def seed() -> Record:
    """Create or reuse the demo data in one transaction. Returns what `seed_demo --json` prints."""
    with transaction.atomic():
        admin, password = administrator()
        return {
            "baseUrl": f"{settings.PUBLIC_URL}/api",
            "adminUrl": f"{settings.PUBLIC_URL}/admin/",
            "adminEmail": admin.email,
            "adminPassword": password,
            "llmModels": models(),
            "accounts": [scale_account(), starter_account()],
        }
