"""Open a chatbot for a caller, and say which ones are open. Open points: roles, foreign-chatbot."""

from typing import Any
from uuid import UUID

from django.db.models import Q

from accounts.access import holdings, reached
from accounts.models import Account, User
from accounts.roles import ADDED, Action, Role, may
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import ApiError
from config.api.viewsets import identifier


class ChatbotNotFound(ApiError):
    """No such chatbot."""

    status_code, code, message = 404, "CHATBOT_NOT_FOUND", "chatbot not found"


class ChatbotForbidden(ApiError):
    """A chatbot that the caller may not use."""

    status_code, code = 403, "CHATBOT_FETCH_FORBIDDEN"
    message = "no permission to access the chatbot"


def open_chatbot(caller: User, chatbot_id: str, *, account: Account | None = None) -> Chatbot:
    """Find a chatbot for its caller, in one query; one of another account than given is missing.

    Raises ChatbotNotFound, ChatbotForbidden.
    """
    try:
        key = identifier(chatbot_id)
    except ApiError:
        raise ChatbotNotFound from None
    rows = Chatbot.objects.as_seen_by(caller)
    chatbot = (rows.filter(account=account) if account else rows).filter(pk=key).first()
    if chatbot is None:
        raise ChatbotNotFound
    seen: Any = chatbot  # Any: with what as_seen_by adds
    holds = holdings(owner=seen.is_owner, role=seen.account_role, permissions=seen.permissions)
    added = {ADDED} if seen.is_added and seen.account_role else set()
    if not (caller.reaches(chatbot.account_id) and may(Action.USE_CHATBOT, holds | added)):
        raise ChatbotForbidden
    return chatbot


def lock_chatbot(chatbot_id: UUID) -> None:
    """Let others who lock this chatbot wait until the caller's transaction ends.

    Taken first by whoever writes what a chatbot has one of: so nobody meets a row half made or
    half gone, and everyone takes the locks in the same order.
    """
    # no_key: rows that merely refer to the chatbot, such as messages, need not wait.
    Chatbot.objects.select_for_update(no_key=True).filter(pk=chatbot_id).first()


def open_to(caller: User) -> ChatbotQuerySet:
    """Keep the chatbots that a caller may use: the rule of open_chatbot, as a query."""
    leads = Q(account__owner=caller) | Q(
        account__memberships__user=caller, account__memberships__role=Role.SUPER_ADMIN
    )
    added = Q(account__memberships__user=caller, memberships__user=caller)
    found = Chatbot.objects.filter(leads | added).order_by().values("pk")
    return reached(Chatbot.objects.filter(pk__in=found), caller)
