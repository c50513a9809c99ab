"""The base of viewsets whose POST requests can be retried safely. Open point: idempotency."""

from contextlib import nullcontext, suppress
from typing import ClassVar
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse

from accounts import idempotency
from accounts.caller import Caller
from config.api.errors import TooManyRequests, as_api_error, plain_response
from config.api.strict_json import JSON, MAX_BYTES, declared_length, refuse
from config.api.viewsets import ApiViewSet


class IdempotentViewSet(ApiViewSet):
    """Runs a POST with an Idempotency-Key only once, and returns the same response to each retry.

    A subclass sets `account_id` during its checks. The actions of a subclass may read `run_as` and
    set `thread_id`.
    """

    waiting: ClassVar[frozenset[str]] = frozenset()  # actions that wait for a network peer
    account_id: UUID  # the account of the object in the URL path; set on paths that accept POST
    thread_id: UUID | None = None  # the thread in the response to a POST
    run_as: UUID | None = None  # an id shared by a request and its retries with the same key

    caller: Caller

    def run_once(self, key: str, request: HttpRequest) -> HttpResponse:
        """Run a request and store its response, or return the response stored for its key.

        If this request stalls and another request takes over its claim, returns the other
        request's response.
        """
        if declared_length(request) > MAX_BYTES:
            refuse(f"Larger than {MAX_BYTES} bytes")
        while True:
            begun = idempotency.begin(
                self.caller.pk,
                account_id=self.account_id,
                route=f"POST {request.path}",
                key=key,
                body=request.body,
            )
            if isinstance(begun, idempotency.Kept):
                return HttpResponse(begun.body, JSON, begun.status)
            self.run_as = begun.row
            with suppress(idempotency.TakenOver), idempotency.renewal.of(begun.holder):
                return self.run_claimed(begun, request)

    def run_claimed(self, claim: idempotency.Claim, request: HttpRequest) -> HttpResponse:
        """Run a request and store its response. Raises TakenOver.

        Unless the action waits for a network peer, its changes and its response are committed
        together, so a crash cannot leave one without the other.
        """
        try:
            with nullcontext() if self.action in self.waiting else transaction.atomic():
                response = self.run(request)
                idempotency.keep(
                    claim, response.status_code, response.content, thread_id=self.thread_id
                )
        except idempotency.TakenOver:
            raise
        except Exception as error:  # every error becomes a response, which may be stored
            response = plain_response(as_api_error(error))
            self.keep_refusal(claim, response)
        return response

    def keep_refusal(self, claim: idempotency.Claim, response: HttpResponse) -> None:
        """Store the response to a failed request, unless a retry may succeed.

        After a 429, the key can be used again. After a 5xx, the next request with the key takes
        over and continues the work. Raises TakenOver.
        """
        if response.status_code < TooManyRequests.status_code:
            idempotency.keep(claim, response.status_code, response.content)
        elif response.status_code == TooManyRequests.status_code:
            idempotency.discard(claim)  # the request stored nothing
        else:
            idempotency.abandon(claim)  # the request may have stored something
