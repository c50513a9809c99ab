"""The success body and its shape. Specification: Response envelope. Open point: envelope."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.response import Response

from config.api.serializers import Shape

OK = 200  # the specification's status table has no 201


@dataclass(frozen=True)
class Answer:
    """A value with its message, for operations that have two possible messages."""

    value: Any
    message: str


def success(data: Any, message: str) -> Response:
    """Wrap a payload in the success envelope."""
    return Response({"statusCode": OK, "success": True, "message": message, "data": data}, OK)


@extend_schema_field({"type": "integer", "const": OK})
class Status(serializers.IntegerField):
    """Every successful response has this status."""


@extend_schema_field({"type": "boolean", "const": True})
class Succeeded(serializers.BooleanField):
    """Always true."""


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
