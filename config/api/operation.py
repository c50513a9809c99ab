"""@operation: body in, record out, message, and the OpenAPI document of all of it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.envelope import OK, Answer, enveloped, success
from config.api.serializers import Shape

SUCCESS = "success"  # where the specification gives no text


class Declared(NamedTuple):
    """What the OpenAPI document needs of an operation beside its shapes."""

    message: str
    partial: bool


def operation(
    *,
    answer: type[Shape],
    body: type[Shape] | None = None,
    query: type[Shape] | None = None,
    partial: bool = False,
    message: str = SUCCESS,
    open_points: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
    """Make a viewset's method an operation of the API.

    The method takes what the query and the body say (validated, by Python names), then the
    rest of the path's names; it returns a value for `answer.write`, or an `Answer`.
    With `partial`, only the fields that the body has are given. Specification: Endpoints.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Response]:
        @wraps(method)
        def run(view: Any, request: Request, **_: str) -> Response:
            given = []
            if query:
                given.append(read(query(data=request.query_params.dict(), context={"view": view})))
            if body:
                shape = body(data=request.data, partial=partial, context={"view": view})
                given.append(read(shape))
            value = method(view, *given, **view.names)
            text = message
            if isinstance(value, Answer):
                value, text = value.value, value.message
            return success(answer.write(value), text)

        run.declared = Declared(message, partial)  # type: ignore[attr-defined]  # read by schema.py
        return extend_schema(
            request=body,
            parameters=[query] if query else [],
            responses={OK: enveloped(answer)},
            extensions={"x-open-point": [*open_points]} if open_points else {},
        )(run)

    return decorate


def read(shape: Shape) -> dict[str, Any]:
    """Validate what a caller gave. Raises DRF's ValidationError."""
    shape.is_valid(raise_exception=True)
    given: dict[str, Any] = shape.validated_data
    return given
