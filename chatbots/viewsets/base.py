"""Base viewsets that limit every operation to one caller, account or chatbot."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Count, Value
from django.http import HttpRequest

from accounts.access import Opened, open_account
from accounts.authentication import authenticate
from accounts.caller import Caller
from accounts.permissions import Action
from accounts.viewsets.api import ApiViewSet
from chatbots.access import (
    KEY_AND_CHATBOT,
    ChatbotForbidden,
    ChatbotInactive,
    ChatbotNotFound,
    OpenChatbot,
    open_to,
)
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import NotFound
from config.api.fields import Identifier
from config.api.pagination import figures
from config.api.serializers import Record
from config.database.prepared import prepare
from config.runtime.context import current


def counted(rows: Callable[..., Any], **given: Any) -> Any:
    """Count the rows that a function selects.

    Django leaves constants out of GROUP BY, so all rows form one group.
    """
    one = rows(**given).order_by().values(all=Value(1))
    return one.annotate(count=Count("pk")).values_list("count")


COUNT = prepare(counted)


def sliced(rows: Callable[..., Any], limit: int, offset: int, **given: Any) -> Any:
    """Select one page of the rows that a function selects."""
    return rows(**given)[offset : offset + limit]


def usable(*, person: UUID, key_account: UUID | None) -> ChatbotQuerySet:
    """Select the chatbots that a person may use with a key that may be bound to an account."""
    return open_to(Caller(person, key_account))


def of_account(*, account: UUID) -> ChatbotQuerySet:
    """Select the chatbots of an account."""
    return Chatbot.objects.filter(account=account)


class CallerViewSet(ApiViewSet):
    """Opens the chatbot whose id is in the path, and reads rows that the caller may use."""

    # Selects the rows that a caller may see, by the arguments that `scope` returns
    rows_of: ClassVar[Callable[..., Any]] = staticmethod(usable)
    found: list[Any]  # read by KEY_AND_CHATBOT; empty if the path has no well-formed chatbot id

    def authenticate(self, request: HttpRequest, **names: str) -> None:
        """Set `caller` and `found`, using a single SQL statement. Raises InvalidKey."""
        chatbot_id = names.get("chatbot_id", "")
        if Identifier.FORM.fullmatch(chatbot_id):
            known = authenticate(request, KEY_AND_CHATBOT, chatbot=UUID(chatbot_id))
        else:  # a malformed id is treated as unknown
            known = authenticate(request)
        self.caller, self.found = known

    def open_chatbot(self, *, account_id: str | None = None) -> OpenChatbot:
        """Return the chatbot in the path.

        Raises ChatbotForbidden if the key gives no access to the chatbot, and ChatbotNotFound if
        the chatbot does not exist or is not in the given account.
        """
        if not self.found or self.found[1] is None:
            raise ChatbotNotFound
        is_open, *values = self.found
        opened = OpenChatbot(*values)
        if account_id is not None and account_id.lower() != str(opened.account_id):
            raise ChatbotNotFound
        current.set(current.get()._replace(account=str(opened.account_id)))
        if not is_open:
            raise ChatbotForbidden
        return opened

    def scope(self) -> dict[str, Any]:
        """Return the arguments of `rows_of` for this request."""
        return {"person": self.caller.pk, "key_account": self.caller.key_account}

    def rows(self) -> Any:  # Any: each subclass returns its own type of queryset
        """Select the rows that this request may see."""
        return self.rows_of(**self.scope())

    def read(self, record: type[Record]) -> list[dict[str, Any]]:
        """Read all rows that this request may see as records."""
        return record.find(self.rows_of, **self.scope())

    def read_page(
        self, record: type[Record], query: dict[str, int]
    ) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """Return one page of records, and its PageFigures."""
        scope, limit = self.scope(), query["limit"]
        [total] = COUNT.first(self.rows_of, **scope) or [0]
        offset = (query["page"] - 1) * limit
        found = record.find(sliced, self.rows_of, limit, offset, **scope) if offset < total else []
        return found, figures(query, total)


class ChatbotViewSet(CallerViewSet):
    """Opens the chatbot whose id is in the path, and reads only that chatbot's rows."""

    model: type[Any]
    path = "chatbot"  # the lookup path from a row to its chatbot
    needs_active: ClassVar[frozenset[str]] = frozenset()  # actions that need an active chatbot
    chatbot: OpenChatbot

    def open(self, **names: str) -> dict[str, Any]:
        """Open the chatbot and return the other path parameters. Raises ApiError."""
        self.chatbot = self.open_chatbot()
        del names["chatbot_id"]
        if self.action in self.needs_active and not self.chatbot.is_active:
            raise ChatbotInactive
        self.account_id = self.chatbot.account_id
        return names

    @classmethod
    def rows_of(cls, *, chatbot: UUID) -> Any:
        """Select the rows of a chatbot."""
        return cls.model.objects.filter(**{cls.path: chatbot})

    def scope(self) -> dict[str, Any]:
        """Return this request's chatbot."""
        return {"chatbot": self.chatbot.pk}

    def key(self, text: str) -> UUID:
        """Parse the id of a row. Raises NotFound if it is malformed."""
        if not Identifier.FORM.fullmatch(text):
            raise NotFound(f"{self.model._meta.verbose_name} not found")
        return UUID(text)

    def row(self, text: str) -> Any:
        """Return one row of this chatbot. Raises NotFound if there is none or its id is malformed.

        The method is not named `get`, because DRF sets that attribute to the GET handler.
        """
        found = self.rows().filter(pk=self.key(text)).first()
        if found is None:
            raise NotFound(f"{self.model._meta.verbose_name} not found")
        return found


class AccountViewSet(CallerViewSet):
    """Opens the account whose id is in the path, and reads only that account's chatbots."""

    needs: ClassVar[dict[str, Action]]  # maps method names to the actions that they require
    rows_of = staticmethod(of_account)
    opened: Opened

    def open(self, **names: str) -> dict[str, Any]:
        """Open the account and return the other path parameters. Raises ApiError."""
        needed = self.needs[self.action]
        self.opened = open_account(self.caller, names.pop("account_id"), needed)
        self.account_id = self.opened.account.pk
        return names

    def scope(self) -> dict[str, Any]:
        """Return this request's account."""
        return {"account": self.account_id}
