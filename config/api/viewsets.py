"""The order of a request's checks, in one method. Open point: order-of-checks."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.viewsets import GenericViewSet

from config.api import limits
from config.api.errors import MethodNotAllowed, as_api_error, plain_response


class ApiViewSet(GenericViewSet[Any]):
    """Authenticate, limit, check the method, open what the path names, run."""

    part: ClassVar[str]  # of the API, as the OpenAPI document divides it
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    names: dict[str, Any]
    post: Callable[[HttpRequest], HttpResponse]  # the action, as DRF sets it for each request
    caller: Any  # as the authentication class returns it

    def dispatch(self, request: HttpRequest, *args: Any, **names: str) -> HttpResponse:
        """Answer a request. DRF's own dispatch would negotiate what is the same in all of them."""
        method = str(request.method).lower()
        self.action = self.action_map.get(method, "")
        try:
            self.check(request, **names)
            run = self.answer_post if method == "post" else getattr(self, method)
            response: HttpResponse = run(request)
        except Exception as error:  # every failure is answered in the contract's form
            response = plain_response(as_api_error(error))
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    @property
    def allowed_methods(self) -> list[str]:
        """Return the methods that this path supports."""
        return [name.upper() for name in self.http_method_names if name in self.action_map]

    def check(self, request: HttpRequest, **names: str) -> None:
        """Check a request, in the documented order of errors. Raises ApiError."""
        self.authenticate(request, **names)  # 401
        limits.count("user", self.caller.pk, settings.RATE_LIMIT_USER)  # 429
        if not self.action:
            raise MethodNotAllowed(self.allowed_methods)  # 405
        self.names = self.open(**names)  # 403, 404; the rest goes to the method

    def authenticate(self, request: HttpRequest, **names: str) -> None:
        """Set the caller. Raises InvalidKey."""
        authentication: Any = self.authentication_classes[0]  # Any: it gets Django's request
        self.caller, _ = authentication().authenticate(request)

    def answer_post(self, request: HttpRequest) -> HttpResponse:
        """Run a POST."""
        return self.post(request)

    def open(self, **names: str) -> dict[str, Any]:
        """Open the resources of the path. Returns its remaining names for the method."""
        return names
