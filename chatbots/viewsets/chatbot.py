"""Chatbots, by account and by caller. Specification: Endpoints, Chatbots."""

from collections import defaultdict
from typing import Any

from accounts.access import accounts_of
from accounts.permissions import Action
from chatbots.access import open_chatbot
from chatbots.models import Chatbot
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
from config.api.operation import operation
from config.api.pagination import PageQuery, cut


class AccountChatbotViewSet(AccountViewSet):
    """Create, change and list the chatbots of an account."""

    part = "Chatbots"
    needs = {
        "create_chatbot": Action.CREATE_CHATBOT,
        "update_chatbot": Action.ENTER_ACCOUNT,
        "list_account_chatbots": Action.LIST_ACCOUNT_CHATBOTS,
    }

    def open(self, **names: str) -> dict[str, Any]:
        """Open the account, and the chatbot if the path names one. Raises ApiError."""
        rest = super().open(**names)
        if "chatbot_id" in rest:
            rest["chatbot"] = open_chatbot(
                self.caller, rest.pop("chatbot_id"), account=self.opened.account
            )
        return rest

    @operation(
        body=ChatbotInput,
        answer=NewChatbotRecord,
        message="chatbot created",
        open_points=("name-unique", "plans", "permissions"),
    )
    def create_chatbot(self, given: dict[str, Any]) -> Chatbot:
        """Create a chatbot with its settings."""
        return create_chatbot(self.opened.account, creator=self.caller, **given)

    @operation(
        body=ChatbotChanges,
        answer=ChatbotRecord,
        open_points=("name-unique", "chatbot-active", "foreign-chatbot"),
    )
    def update_chatbot(self, changes: dict[str, Any], chatbot: Chatbot) -> Chatbot:
        """Change a chatbot.

        Fields that are not given keep their values.
        """
        return update_chatbot(chatbot, changes)

    @operation(answer=AccountChatbots, open_points=("permissions",))
    def list_account_chatbots(self) -> dict[str, Any]:
        """List every chatbot of the account."""
        chatbots = ChatbotRecord.read(self.rows())
        return {"chatbots": chatbots, "count": len(chatbots), "user_role": self.opened.role}


class OwnChatbotViewSet(CallerViewSet):
    """List the chatbots that the caller may use."""

    part = "Chatbots"

    @operation(query=PageQuery, answer=ChatbotPage, open_points=("chatbots-list",))
    def list_chatbots(self, query: dict[str, int]) -> dict[str, Any]:
        """List the chatbots that the caller may use, newest first."""
        chatbots, figures = cut(self.rows(), query)
        return {"chatbots": chatbots, "pagination": figures}

    @operation(answer=MyChatbots, open_points=("my-chatbots",))
    def list_my_chatbots(self) -> dict[str, Any]:
        """List the caller's accounts, each with the chatbots that the caller may use."""
        by_account = defaultdict(list)
        for record in MyChatbotRecord.read(self.rows().with_caller_role(self.caller)):
            by_account[record["accountId"]].append(record)
        accounts = accounts_of(self.caller).values("id", "name", "caller_role")
        return {
            "accounts": [each | {"chatbots": by_account[each["id"]]} for each in accounts],
            "total_count": sum(map(len, by_account.values())),
        }
