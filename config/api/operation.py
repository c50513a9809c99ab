"""Define @operation, which declares and documents what an operation takes and returns.

Specification: Response envelope. Open point: envelope.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from config.api.serializers import Shape

OK = 200  # also returned when something is created: the specification has no 201
SUCCESS = "success"  # the message if the specification defines none


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
    """What @operation declares: the shapes of the bodies and the query, and the success message."""

    answer: type[Shape]
    body: type[Shape] | None
    query: type[Shape] | None
    partial: bool
    message: str


@cache
def enveloped(record: type[Shape]) -> type[serializers.Serializer[Any]]:
    """Build the shape of a success response that contains this record, for the OpenAPI document."""
    name = f"{record.__name__.removesuffix('Record')}Answer"
    made = type(
        name,
        (serializers.Serializer,),
        {
            "__doc__": None,
            "statusCode": Status(help_text="The HTTP status code."),
            "success": Succeeded(),
            "message": serializers.CharField(help_text="A human-readable text."),
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
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn a viewset's method into an operation of the API.

    The method receives the validated query and body (dicts with Python names as keys) and, as
    keyword arguments, the values that the viewset's `open` returns. It returns a value for
    `answer.write`, or an `Answer`. With `partial`, the body's dict has only the fields that were
    sent. Specification: Endpoints.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        declared = Declared(answer, body, query, partial, message)
        method.declared = declared  # type: ignore[attr-defined]  # read by the viewset
        documented: Callable[..., Any] = extend_schema(
            request=body,
            parameters=[query] if query else [],
            responses={OK: enveloped(answer)},
            extensions={"x-open-point": [*open_points]} if open_points else {},
        )(method)
        return documented

    return decorate
