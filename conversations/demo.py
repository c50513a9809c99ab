"""Demo data: two accounts with bots and conversations.

A run reuses the rows that earlier runs created. Every run issues new API keys and sets a new admin
password.
"""

import secrets
from itertools import cycle, islice
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
SHOP_FACTS = """\
We sell cookware, tableware and kitchen tools, and have done so since 1987.
We are open Monday to Friday from 9:00 to 18:00 and on Saturdays from 10:00 to 16:00.
We are closed on Sundays and public holidays.
Our address is 12 Harbor Street, Springfield, five minutes from the central station.
We deliver from Monday to Saturday, and orders placed by noon leave the same day.
Delivery takes one to two days within the country and three to five days abroad.
Delivery costs 4.90 euros and is free for orders above 40 euros.
You can track your order with the link that we send when the order leaves.
We can cancel an order, or change its delivery address, until the parcel is packed.
You can return anything within 30 days, and returns are free of charge.
We send the refund within five working days of receiving your return.
You can pay by card, with PayPal, by invoice, or in cash at the shop.
Everything comes with a two-year warranty.
Gift cards are available for any amount from 10 euros.
There is a parking lot behind the shop, and parking is free for the first hour.
You can call us at 555 0100 or write to hello@shop.example.
"""
HELP_DESK_FACTS = """\
Our support team is open Monday to Friday from 8:00 to 20:00 and on Saturdays from 9:00 to 13:00.
We are closed on Sundays; messages sent then are answered on Monday morning.
Our address is 12 Harbor Street, Springfield.
You can call us at 555 0101 or write to help@desk.example, and we reply within one working day.
To reset your password, click "Forgot password" when signing in; we send a link valid for an hour.
You can change your email address and your name on the "My account" page.
You can delete your account on the "My account" page, and we erase your data within 30 days.
Invoices are on the "Billing" page, and you can pay by card or by bank transfer.
The subscription costs 9 euros a month, and you can cancel it at the end of any month.
You can return a device within 30 days, and we deliver a replacement within two days.
"""
TABLE_FACTS = """\
We are open Tuesday to Sunday, for lunch from 12:00 to 14:30 and for dinner from 18:00 to 23:00.
We are closed on Mondays, and the kitchen takes its last orders at 22:00.
Our address is 3 Market Square, Springfield, opposite the town hall.
You can reserve a table for up to ten people here or at 555 0102, up to 60 days ahead.
We hold a reserved table for 15 minutes, and you can cancel up to two hours beforehand.
Our menu has eight vegetarian and five vegan dishes, all clearly marked.
Every dish can be made without gluten or nuts: tell us about allergies when you order.
Main courses cost between 14 and 26 euros, and the lunch menu costs 12.50 euros.
You can pay by card or in cash.
We deliver within five kilometers from 18:00 to 21:30, and delivery costs 3 euros.
You can order takeout until 21:30, and it is ready in 20 minutes.
You can call us at 555 0102 or write to hello@table.example.
There is a parking garage under Market Square, and parking costs 2 euros an hour.
Children are welcome: we have highchairs and a children's menu.
Dogs are welcome on the terrace.
"""
Record = dict[str, Any]


class Talk(NamedTuple):
    """A demo conversation: its visitor, its number of messages, and the lines that it repeats."""

    visitor_id: str
    name: str
    messages: int
    words: tuple[tuple[MessageType, str], ...] = SHOP_TALK


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


def furnish(chatbot: Chatbot, facts: str) -> None:
    """Give a new bot facts, instructions, a persona, follow-up prompts and a German text set."""
    general_settings.change(chatbot.pk, {"description": facts})
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
                message = history.append_from_visitor(thread, content)
                thread = message.thread if message else thread
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
        HELP_DESK_FACTS,
        Talk("visitor-ben", "Ben C.", 45),
    )
    shop = bot_of(
        account,
        "Shop",
        "Answers questions about orders",
        SHOP_FACTS,
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
        TABLE_FACTS,
        Talk("visitor-cleo", "Cleo D.", 6, TABLE_TALK),
    )
    return account_record(account, [account.owner], [bot])


def administrator() -> tuple[User, str]:
    """Find or create the superuser, and set a new password."""
    password = secrets.token_urlsafe(12)
    user = active_user(ADMIN_EMAIL, name="Administrator")
    user.is_staff = user.is_superuser = True
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
