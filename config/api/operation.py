"""@operation: validate the body, write the record and message, and document the operation."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.envelope import OK, Answer, enveloped, success
from config.api.serializers import Shape

SUCCESS = "success"  # if the specification gives no text


class Declared(NamedTuple):
    """The parts of an operation that the OpenAPI document needs besides its shapes."""

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

    The method receives the validated query and body (dicts with Python names), then the
    remaining names of the path. It returns a value for `answer.write`, or an `Answer`.
    With `partial`, the dict has only the fields of the body. Specification: Endpoints.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Response]:
        @wraps(method)
        def run(view: Any, request: Request, **_: str) -> Response:
            given = []
            if query:
                given.append(query.shared().run_validation(request.query_params.dict()))
            if body:
                given.append(body.shared(partial=partial).run_validation(request.data))
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
