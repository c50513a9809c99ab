"""Handle a request, from its checks to its response.

Open points: order-of-checks, envelope, idempotency.
"""

from contextlib import nullcontext, suppress
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from rest_framework.viewsets import GenericViewSet

from accounts import idempotency
from accounts.caller import Caller
from config.api import limits, strict_json
from config.api.errors import MethodNotAllowed, TooManyRequests, as_api_error, plain_response
from config.api.operation import OK, Answer, Declared

IDEMPOTENCY_META = f"HTTP_{idempotency.HEADER.upper().replace('-', '_')}"  # in request.META


class ApiViewSet(GenericViewSet[Any]):
    """Authenticates a request, checks its rate limit, method and path, and runs its operation.

    A POST with an Idempotency-Key runs only once, and each retry gets the same response. A subclass
    sets `account_id` during its checks. The actions of a subclass may read `run_as` and set
    `thread_id`.
    """

    part: ClassVar[str]  # the part of the API that it serves, used as its tag in OpenAPI
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    waiting: ClassVar[frozenset[str]] = frozenset()  # actions that wait for a network peer
    names: dict[str, Any]
    caller: Caller
    account_id: UUID  # the account of the object in the URL path; set on paths that accept POST
    thread_id: UUID | None = None  # the thread in the response to a POST
    run_as: UUID | None = None  # an id shared by a request and its retries with the same key

    def dispatch(self, request: HttpRequest, *args: Any, **names: str) -> HttpResponse:
        """Respond to a request. Unlike DRF's dispatch, this does not negotiate the content type."""
        method, allowed = str(request.method).lower(), ", ".join(self.allowed_methods)
        self.action = self.action_map.get(method, "")
        try:
            self.check(request, **names)
            key = request.META.get(IDEMPOTENCY_META) if method == "post" else None
            response = self.run(request) if key is None else self.run_once(key, request)
        except Exception as error:  # every failure gets a body in the API's error format
            response = plain_response(as_api_error(error))
        response["Allow"] = allowed
        return response

    @property
    def allowed_methods(self) -> list[str]:
        """Return the methods that this path supports."""
        return [name.upper() for name in self.http_method_names if name in self.action_map]

    def check(self, request: HttpRequest, **names: str) -> None:
        """Run a request's checks in the documented order. Raises ApiError."""
        self.authenticate(request, **names)  # 401
        limits.count(("user", self.caller.pk, settings.RATE_LIMIT_USER))  # 429
        if not self.action:
            raise MethodNotAllowed  # 405
        self.names = self.open(**names)  # 403, 404

    def authenticate(self, request: HttpRequest, **names: str) -> None:
        """Set the caller. Raises InvalidKey."""
        raise NotImplementedError

    def open(self, **names: str) -> dict[str, Any]:
        """Check access to the resources in the path. Returns the operation's keyword arguments."""
        return names

    def run(self, request: HttpRequest) -> HttpResponse:
        """Validate the query and the body, call the operation, and return the success response."""
        method = getattr(self, self.action)
        declared: Declared = method.declared
        given = []
        if declared.query:
            given.append(declared.query.shared().run_validation(request.GET.dict()))
        if declared.body:
            body = declared.body.shared(partial=declared.partial)
            given.append(body.run_validation(strict_json.read(request)))
        value, message = method(*given, **self.names), declared.message
        if isinstance(value, Answer):
            value, message = value.value, value.message
        data = declared.answer.write(value)
        envelope = {"statusCode": OK, "success": True, "message": message, "data": data}
        return HttpResponse(strict_json.dumps(envelope), strict_json.JSON, OK)

    def run_once(self, key: str, request: HttpRequest) -> HttpResponse:
        """Run a POST and store its response, or return the response stored for its key.

        If this request stalls and another request takes over its claim, returns the other
        request's response.
        """
        strict_json.check_length(request)
        while True:
            begun = idempotency.begin(
                self.caller.pk,
                account_id=self.account_id,
                route=f"POST {request.path}",
                key=key,
                body=request.body,
            )
            if isinstance(begun, idempotency.Kept):
                return HttpResponse(begun.body, strict_json.JSON, begun.status)
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
