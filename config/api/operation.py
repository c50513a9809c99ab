"""@operation: validate the body, write the success body, and document the operation.

Specification: Response envelope. Open point: envelope.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from config.api import body as bodies
from config.api.serializers import Shape

OK = 200  # the specification's status table has no 201
SUCCESS = "success"  # if the specification gives no text


@dataclass(frozen=True)
class Answer:
    """A value with its message, for operations that have two possible messages."""

    value: Any
    message: str


@extend_schema_field({"type": "integer", "const": OK})
class Status(serializers.IntegerField):
    """Every successful response has this status."""


@extend_schema_field({"type": "boolean", "const": True})
class Succeeded(serializers.BooleanField):
    """Always true."""


class Declared(NamedTuple):
    """The parts of an operation that the OpenAPI document needs besides its shapes."""

    message: str
    partial: bool


def success(data: Any, message: str) -> HttpResponse:
    """Wrap a payload in the success envelope."""
    body = {"statusCode": OK, "success": True, "message": message, "data": data}
    return HttpResponse(bodies.dumps(body), bodies.JSON, OK)


@cache
def enveloped(record: type[Shape]) -> type[serializers.Serializer[Any]]:
    """Make the shape of a record's success body, for the OpenAPI document."""
    name = f"{record.__name__.removesuffix('Record')}Answer"
    made = type(
        name,
        (serializers.Serializer,),
        {
            "__doc__": None,
            "statusCode": Status(help_text="The HTTP status."),
            "success": Succeeded(),
            "message": serializers.CharField(help_text="For people."),
            "data": record(),
        },
    )
    return extend_schema_serializer(many=False)(made)


def operation(
    *,
    answer: type[Shape],
    body: type[Shape] | None = None,
    query: type[Shape] | None = None,
    partial: bool = False,
    message: str = SUCCESS,
    open_points: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """Make a viewset's method an operation of the API.

    The method receives the validated query and body (dicts with Python names), then the
    remaining names of the path. It returns a value for `answer.write`, or an `Answer`.
    With `partial`, the dict has only the fields of the body. Specification: Endpoints.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., HttpResponse]:
        @wraps(method)
        def run(view: Any, request: HttpRequest, **_: str) -> HttpResponse:
            given = []
            if query:
                given.append(query.shared().run_validation(request.GET.dict()))
            if body:
                given.append(body.shared(partial=partial).run_validation(bodies.read(request)))
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
