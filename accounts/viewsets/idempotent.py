"""The base of viewsets whose POST requests can be repeated. Open point: idempotency."""

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
from accounts.caller import Caller
from config.api.body import MAX_BYTES, declared_length, dumps
from config.api.errors import TooManyRequests
from config.api.viewsets import ApiViewSet


class IdempotentViewSet(ApiViewSet):
    """Runs a POST with an Idempotency-Key only once, and returns its answer to each retry.

    A subclass sets `account_id` before its checks end. It may read `run_as`, and set `thread_id`
    while it runs.
    """

    waiting: ClassVar[frozenset[str]] = frozenset()  # actions that wait for a network peer
    post: Callable[..., Any]  # the action, as DRF sets it for each request
    account_id: UUID  # the account of the path's object; set on paths that accept POST
    thread_id: UUID | None = None  # the conversation that the answer to a POST contains
    run_as: UUID | None = None  # identical for all requests with the same Idempotency-Key

    @property
    def caller(self) -> Caller:
        """The authenticated user. Requests without one are refused earlier."""
        return cast(Caller, self.request.user)

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
            self.keep_refusal(claim, response)
        return response

    def keep_refusal(self, claim: idempotency.Claim, response: Response) -> None:
        """Store the answer of a request that failed, unless a retry can succeed.

        Raises TakenOver.
        """
        if response.status_code < TooManyRequests.status_code:
            idempotency.keep(claim, response.status_code, dumps(response.data))
        elif response.status_code == TooManyRequests.status_code:
            idempotency.discard(claim)  # nothing was done
        else:
            idempotency.abandon(claim)  # something may have been stored
