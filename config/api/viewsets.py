"""Handle a request, from its checks to its response. Open points: order-of-checks, envelope."""

from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.viewsets import GenericViewSet

from config.api import limits, strict_json
from config.api.errors import MethodNotAllowed, as_api_error, plain_response
from config.api.operation import OK, Answer, Declared

IDEMPOTENCY_KEY = "Idempotency-Key"
IDEMPOTENCY_META = f"HTTP_{IDEMPOTENCY_KEY.upper().replace('-', '_')}"  # in request.META


class ApiViewSet(GenericViewSet[Any]):
    """Authenticates a request, checks its rate limit, method and path, and runs its operation."""

    part: ClassVar[str]  # the part of the API that it serves, used as its tag in OpenAPI
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    names: dict[str, Any]
    caller: Any  # set by `authenticate`; typed as Any because config imports no other app

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
        """Run a POST only once per caller and Idempotency-Key. Open point: idempotency."""
        raise NotImplementedError
