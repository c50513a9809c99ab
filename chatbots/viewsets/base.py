"""Base viewsets that limit every operation to one caller, account or chatbot."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, ClassVar, cast
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import idempotency
from accounts.access import Opened, open_account
from accounts.models import User
from accounts.permissions import Action
from chatbots.access import open_chatbot, open_to
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.body import MAX_BYTES, declared_length, dumps
from config.api.errors import NotFound, TooManyRequests
from config.api.viewsets import ApiViewSet, identifier


class CallerViewSet(ApiViewSet):
    """Reads rows that the caller may use, and runs a POST with an Idempotency-Key only once."""

    waiting: ClassVar[frozenset[str]] = frozenset()  # actions that wait for a network peer
    post: Callable[..., Any]  # the action, as DRF sets it for each request
    account_id: UUID  # the account of the path's object; set on paths that accept POST
    thread_id: UUID | None = None  # the conversation that the answer to a POST contains
    run_as: UUID | None = None  # identical for all requests with the same Idempotency-Key

    def initial(self, request: Request, *args: Any, **names: str) -> None:
        """Check a request before looking for its stored answer. Raises ApiError."""
        super().initial(request, *args, **names)
        key = request.headers.get(idempotency.HEADER)
        sane = declared_length(request) <= MAX_BYTES  # otherwise the request is refused later
        if request.method == "POST" and key is not None and sane:
            self.post = partial(self.answer_once, key, self.post)

    def answer_once(
        self, key: str, run: Callable[..., Response], request: Request, **names: str
    ) -> HttpResponseBase:
        """Run a request and store its answer, or return the answer stored for its key.

        A request that stalled and was taken over returns the answer of the request that took over.
        """
        while True:
            begun = idempotency.begin(
                self.caller.pk,
                account_id=self.account_id,
                route=f"POST {request.path}",
                key=key,
                body=request._request.body,
            )
            if isinstance(begun, idempotency.Kept):
                return HttpResponse(begun.body, "application/json", begun.status)
            self.run_as = begun.row
            with suppress(idempotency.TakenOver), idempotency.renewal.of(begun.holder):
                return self.run_claimed(begun, run, request, **names)

    def run_claimed(
        self, claim: idempotency.Claim, run: Callable[..., Response], request: Request, **names: str
    ) -> Response:
        """Run a request and store its answer. Raises TakenOver.

        An action that waits for no network peer commits together with its answer, so that a
        process that dies in between leaves neither.
        """
        try:
            with nullcontext() if self.action in self.waiting else transaction.atomic():
                response = run(request, **names)
                body = dumps(response.data)
                idempotency.keep(claim, response.status_code, body, thread_id=self.thread_id)
        except idempotency.TakenOver:
            raise
        except Exception as error:  # DRF's answer to any error is returned, and may be stored
            response = self.handle_exception(error)
            if response.status_code < TooManyRequests.status_code:
                idempotency.keep(claim, response.status_code, dumps(response.data))
            elif response.status_code == TooManyRequests.status_code:
                idempotency.release(claim)  # nothing was done
            else:
                idempotency.abandon(claim)  # something may have been stored
        return response

    @property
    def caller(self) -> User:
        """The authenticated user. Requests without one are refused earlier."""
        return cast(User, self.request.user)

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
