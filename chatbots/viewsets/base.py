"""Base viewsets that limit every operation to one caller, account or chatbot."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Count, UUIDField, Value
from django.http import HttpRequest

from accounts.access import Opened, open_account
from accounts.authentication import BearerAuthentication
from accounts.permissions import Action
from accounts.viewsets.idempotent import IdempotentViewSet
from chatbots.access import (
    KEY_AND_CHATBOT,
    OPEN,
    ChatbotForbidden,
    ChatbotInactive,
    ChatbotNotFound,
    OpenChatbot,
    chatbots_of_account,
    open_to,
    open_to_bound_key,
    open_to_person,
)
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import NotFound
from config.api.fields import Identifier
from config.api.pagination import figures
from config.api.serializers import Reading
from config.database.prepared import Given, prepared
from config.runtime.context import current

Start = tuple[Callable[[], Any], dict[str, Any]]
COUNT = prepared(
    # Django leaves constants out of GROUP BY, so all rows form one group.
    lambda rows: (
        rows()
        .order_by()
        .values(all=Value(1))
        .annotate(count=Count("pk"))
        .values_list("count", flat=True)
    )
)


class CallerViewSet(IdempotentViewSet):
    """Opens the chatbot whose id is in the path, and reads rows that the caller may use."""

    columns: ClassVar[tuple[str, ...]] = OPEN  # chatbot columns to read together with the key
    # called with the values of `columns`
    make_chatbot: ClassVar[Callable[..., OpenChatbot | Chatbot]] = OpenChatbot
    found: list[Any]  # read by KEY_AND_CHATBOT; empty if the path has no well-formed chatbot id

    def authenticate(self, request: HttpRequest, **names: str) -> None:
        """Set `caller` and `found`, using a single SQL statement. Raises InvalidKey."""
        authentication, chatbot_id = BearerAuthentication(), names.get("chatbot_id", "")
        if Identifier.FORM.fullmatch(chatbot_id):
            known = authentication.authenticate(
                request, KEY_AND_CHATBOT, *self.columns, chatbot=UUID(chatbot_id)
            )
        else:  # a malformed id is treated as unknown
            known = authentication.authenticate(request)
        self.caller, self.found = known

    def open_chatbot(self, *, account_id: str | None = None) -> Any:  # Any: see make_chatbot
        """Return the chatbot in the path, built by `make_chatbot`.

        Raises ChatbotForbidden if the key gives no access to the chatbot, and ChatbotNotFound if
        the chatbot does not exist or is not in the given account.
        """
        if not self.found or self.found[1] is None:
            raise ChatbotNotFound
        is_open, *values = self.found
        opened = self.make_chatbot(*values)
        if account_id is not None and account_id.lower() != str(opened.account_id):
            raise ChatbotNotFound
        current.set(current.get()._replace(account=str(opened.account_id)))
        if not is_open:
            raise ChatbotForbidden
        return opened

    def rows(self) -> Any:  # Any: each subclass returns its own type of queryset
        """Return the chatbots that the caller may use."""
        return open_to(self.caller)

    def start(self) -> Start:
        """Return a function that builds the queryset for `read`, and the queryset's parameters."""
        if self.caller.key_account is None:
            return open_to_person, {"person": self.caller.pk}
        given = {"person": self.caller.pk, "key_account": self.caller.key_account}
        return open_to_bound_key, given

    def read(self, reading: Reading, *shape: Any, **given: Any) -> list[dict[str, Any]]:
        """Read records from the rows that this request may see."""
        rows, own = self.start()
        return reading.records(rows, *shape, **own, **given)

    def read_page(
        self, reading: Reading, query: dict[str, int]
    ) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """Return one page of records, and its PageFigures."""
        rows, own = self.start()
        total = COUNT.first(rows, **own) or 0
        offset = (query["page"] - 1) * query["limit"]
        found = self.read(reading, limit=query["limit"], offset=offset) if offset < total else []
        return found, figures(query, total)


class ChatbotViewSet(CallerViewSet):
    """Opens the chatbot whose id is in the path, and reads only that chatbot's rows."""

    model: type[Any]
    scope = "chatbot"  # the lookup path from a row to its chatbot
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

    def rows(self) -> Any:
        """Return the rows of this chatbot."""
        return self.model.objects.filter(**{self.scope: self.chatbot.pk})

    @classmethod
    def given_rows(cls) -> Any:
        """Return the rows of the chatbot whose id is given when the prepared statement runs."""
        return cls.model.objects.filter(**{cls.scope: Given("chatbot", UUIDField())})

    def start(self) -> Start:
        """Return `given_rows`, and this chatbot's id as its parameter."""
        return self.given_rows, {"chatbot": self.chatbot.pk}

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
    opened: Opened

    def open(self, **names: str) -> dict[str, Any]:
        """Open the account and return the other path parameters. Raises ApiError."""
        needed = self.needs[self.action]
        self.opened = open_account(self.caller, names.pop("account_id"), needed)
        self.account_id = self.opened.account.pk
        return names

    def rows(self) -> ChatbotQuerySet:
        """Return the chatbots of this account."""
        return Chatbot.objects.filter(account=self.account_id)

    def start(self) -> Start:
        """Return `chatbots_of_account`, and this account's id as its parameter."""
        return chatbots_of_account, {"account": self.account_id}
