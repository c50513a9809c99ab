"""Operations on an account's chatbots and on the caller's. Specification: Endpoints, Chatbots."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from accounts.access import read_accounts
from accounts.caller import Caller
from accounts.permissions import Action
from chatbots.access import OpenChatbot, open_to
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from chatbots.serializers.chatbot import (
    AccountChatbots,
    ChatbotChanges,
    ChatbotInput,
    ChatbotPage,
    ChatbotRecord,
    MyChatbotRecord,
    MyChatbots,
    NewChatbotRecord,
)
from chatbots.services.chatbot import create_chatbot, update_chatbot
from chatbots.viewsets.base import AccountViewSet, CallerViewSet
from config.api.errors import ApiError
from config.api.operation import operation
from config.api.pagination import PageQuery


def with_caller_role(*, person: UUID, key_account: UUID | None) -> ChatbotQuerySet:
    """Select the chatbots that a caller may use, each with the caller's role in it."""
    return open_to(Caller(person, key_account)).with_caller_role(person)


class AccountChatbotViewSet(AccountViewSet):
    """Create, change and list the chatbots of an account."""

    part = "Chatbots"
    needs = {
        "create_chatbot": Action.CREATE_CHATBOT,
        "update_chatbot": Action.ENTER_ACCOUNT,
        "list_account_chatbots": Action.LIST_ACCOUNT_CHATBOTS,
    }

    def open(self, **names: str) -> dict[str, Any]:
        """Open the chatbot or, if the path has no chatbot id, the account. Raises ApiError.

        Everyone who may use a chatbot may enter its account, so the account need not be checked if
        the chatbot can be opened. Otherwise, the account is checked, because its errors take
        precedence over those of the chatbot.
        """
        if "chatbot_id" not in names:
            return super().open(**names)
        try:
            return {"chatbot": self.open_chatbot(account_id=names["account_id"])}
        except ApiError:
            super().open(account_id=names["account_id"])
            raise

    @operation(
        body=ChatbotInput,
        answer=NewChatbotRecord,
        message="chatbot created",
        open_points=("name-unique", "plans", "permissions"),
    )
    def create_chatbot(self, given: dict[str, Any]) -> Chatbot:
        """Create a chatbot with its settings."""
        return create_chatbot(self.opened.account, creator_id=self.caller.pk, **given)

    @operation(
        body=ChatbotChanges,
        answer=ChatbotRecord,
        open_points=("name-unique", "chatbot-active", "foreign-chatbot"),
    )
    def update_chatbot(self, changes: dict[str, Any], chatbot: OpenChatbot) -> Chatbot:
        """Change a chatbot.

        Omitted fields keep their values.
        """
        return update_chatbot(chatbot.pk, changes)

    @operation(answer=AccountChatbots, open_points=("permissions",))
    def list_account_chatbots(self) -> dict[str, Any]:
        """List all chatbots in the account."""
        chatbots = self.read(ChatbotRecord)
        return {"chatbots": chatbots, "count": len(chatbots), "user_role": self.opened.role}


class OwnChatbotViewSet(CallerViewSet):
    """List the chatbots that the caller may use."""

    part = "Chatbots"

    @operation(query=PageQuery, answer=ChatbotPage, open_points=("chatbots-list",))
    def list_chatbots(self, query: dict[str, int]) -> dict[str, Any]:
        """List the chatbots that the caller may use, newest first."""
        chatbots, figures = self.read_page(ChatbotRecord, query)
        return {"chatbots": chatbots, "pagination": figures}

    @operation(answer=MyChatbots, open_points=("my-chatbots",))
    def list_my_chatbots(self) -> dict[str, Any]:
        """List the caller's accounts, each with the chatbots that the caller may use."""
        by_account = defaultdict(list)
        for record in MyChatbotRecord.find(with_caller_role, **self.scope()):
            by_account[record["accountId"]].append(record)
        return {
            "accounts": [
                {"id": key, "name": name, "caller_role": role, "chatbots": by_account[key]}
                for key, name, role in read_accounts(self.caller)
            ],
            "total_count": sum(map(len, by_account.values())),
        }
