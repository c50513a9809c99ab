"""The order of a request's checks, in one method. Open point: order-of-checks."""

from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from config.api import limits
from config.api.errors import MethodNotAllowed, NotFound
from config.api.fields import Identifier


def identifier(text: str) -> UUID:
    """Parse an id of the path. A malformed id counts as unknown. Raises NotFound."""
    if not Identifier.FORM.fullmatch(text):
        raise NotFound
    return UUID(text)


class ApiViewSet(GenericViewSet[Any]):
    """Authenticate, limit, check the method, open what the path names, run."""

    part: ClassVar[str]  # of the API, as the OpenAPI document divides it
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    names: dict[str, Any]

    def initial(self, request: Request, *args: Any, **names: str) -> None:
        """Check a request, in the documented order of errors. Raises ApiError."""
        self.perform_authentication(request)  # 401
        limits.count("user", request.user.pk, settings.RATE_LIMIT_USER)  # 429
        if request.method is None or request.method.lower() not in self.action_map:
            raise MethodNotAllowed([method.upper() for method in self.action_map])  # 405
        self.names = self.open(**names)  # 403, 404; the rest goes to the method

    def open(self, **names: str) -> dict[str, Any]:
        """Open the resources of the path. Returns its remaining names for the method."""
        return names
