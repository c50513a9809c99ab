"""Base viewsets that limit every operation to one caller, account or chatbot."""

from typing import Any, ClassVar

from accounts.access import Opened, open_account
from accounts.permissions import Action
from accounts.viewsets.idempotent import IdempotentViewSet
from chatbots.access import open_chatbot, open_to
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import NotFound
from config.api.viewsets import identifier


class CallerViewSet(IdempotentViewSet):
    """Reads rows that the caller may use."""

    def rows(self) -> Any:  # Any: each subclass returns the queryset of its model
        """Start from the chatbots that the caller may use."""
        return open_to(self.caller)


class ChatbotViewSet(CallerViewSet):
    """Opens the chatbot that the path names, and reads only rows of that chatbot."""

    model: type[Any]
    scope = "chatbot"  # the path from a row to its chatbot
    chatbot: Chatbot

    def open(self, **names: str) -> dict[str, Any]:
        """Open the chatbot and return the other path parameters. Raises ApiError."""
        self.chatbot = open_chatbot(self.caller, names.pop("chatbot_id"))
        self.account_id = self.chatbot.account_id
        return names

    def rows(self) -> Any:
        """Start from the rows of this chatbot."""
        return self.model.objects.filter(**{self.scope: self.chatbot})

    def row(self, key: str) -> Any:
        """Return one row of this chatbot. Not named `get`, because DRF calls that for GET requests.

        Raises NotFound, also for a malformed id.
        """
        try:
            return self.rows().get(pk=identifier(key))
        except (NotFound, self.model.DoesNotExist):
            raise NotFound(f"{self.model._meta.verbose_name} not found") from None


class AccountViewSet(CallerViewSet):
    """Opens the account that the path names, and reads only chatbots of that account."""

    needs: ClassVar[dict[str, Action]]  # the action that each method requires, by its name
    opened: Opened

    def open(self, **names: str) -> dict[str, Any]:
        """Open the account and return the other path parameters. Raises ApiError."""
        needed = self.needs[self.action]
        self.opened = open_account(self.caller, names.pop("account_id"), needed)
        self.account_id = self.opened.account.pk
        return names

    def rows(self) -> ChatbotQuerySet:
        """Start from the chatbots of this account."""
        return Chatbot.objects.filter(account=self.opened.account)
