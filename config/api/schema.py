"""Complete the OpenAPI document with what serializers do not define: names, errors, examples."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings
from django.core.validators import RegexValidator
from drf_spectacular.openapi import AutoSchema

from config.api import fields as wire
from config.api.errors import (
    ApiError,
    Forbidden,
    InvalidKey,
    InvalidRequest,
    NotFound,
    TooManyRequests,
)
from config.api.naming import camel, capitalized
from config.api.operation import OK, Declared
from config.api.serializers import Record

Schema = dict[str, Any]

# The parts of the document that no class defines
PARTS: Schema = yaml.safe_load(Path(__file__).with_name("openapi.yaml").read_text())
JSON = "application/json"
SHARED = ("responses", "headers", "parameters", "securitySchemes")
VERBS = {"retrieve": "get", "destroy": "delete"}
# Errors that many operations can return: the name of the response, and an example
ERRORS: dict[int, tuple[str, ApiError]] = {
    400: ("InvalidRequest", InvalidRequest.at(["name"], "Required")),
    401: ("InvalidKey", InvalidKey()),
    403: ("Forbidden", Forbidden()),
    404: ("NotFound", NotFound()),
    429: ("TooManyRequests", TooManyRequests(limit=500, window=60, retry_after=17)),
    500: ("ServerError", ApiError()),
}


def codes(kind: type[ApiError] = ApiError) -> set[str]:
    """Return the codes of an error class and of all its imported subclasses."""
    below = (codes(each) for each in kind.__subclasses__())
    return set().union({kind.code} if kind.code else set(), *below)


def with_example(schema: Schema, *names: str) -> Schema:
    """Add an example of a property to its schema, unless there is none for any of its names."""
    found = [PARTS["examples"][name] for name in names if name in PARTS["examples"]]
    return schema | {"examples": found[:1]} if found and "$ref" not in schema else schema


def only_the_api(endpoints: list[Any]) -> list[Any]:
    """Keep only the paths below /api. Probes and pages are not part of the contract."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/api/")]


def name_inputs(result: Schema, **_: Any) -> Schema:
    """Name the schemas of request bodies as their classes, or else with the suffix "Input".

    Spectacular appends "Request" to the name of each class.
    """
    name = r'(?<!responses/)\b(\w+?)(Input|Changes|Choice)?Request"'
    renamed = re.sub(name, lambda found: f'{found[1]}{found[2] or "Input"}"', json.dumps(result))
    document: Schema = json.loads(renamed)
    return document


def add_shared_parts(result: Schema, **_: Any) -> Schema:
    """Add the parts of `openapi.yaml`, errors, the request's id and the API key.

    All views have been imported by now, and with them all error classes.
    """
    components, shared = result["components"], deepcopy(PARTS["components"])
    code = shared["schemas"]["Error"]["properties"]["code"]  # also that of the other errors
    code["description"] += f" {', '.join(sorted(codes()))}."
    components["schemas"] = dict(sorted((components["schemas"] | shared["schemas"]).items()))
    for name, error in ERRORS.values():
        response = shared["responses"][name]
        response["headers"] = response["headers"] | {
            header: {"required": True, "schema": {"type": "string"}, "example": value}
            for header, value in error.headers().items()
        }
        response["content"][JSON]["example"] = error.body()
    components |= {part: shared[part] for part in SHARED}
    for path in result["paths"].values():
        for operation in path.values():
            parameters = operation.setdefault("parameters", [])
            parameters.append({"$ref": "#/components/parameters/RequestId"})
            operation["security"] = [{"apiKey": []}]
    result["info"]["description"] = PARTS["description"]
    server = {"url": settings.PUBLIC_URL, "description": "The public address of this service."}
    return result | {
        "x-open-point": PARTS["open_points"],
        "servers": [server],
        "tags": PARTS["tags"],
    }


class OperationSchema(AutoSchema):
    """Documents an operation according to its @operation decorator.

    `_map_basic_serializer` and `_map_serializer_field` are drf-spectacular's extension points for
    what a serializer does not define.
    """

    view: Any  # an ApiViewSet, typed as Any because drf-spectacular does not know that class

    @property
    def declared(self) -> Declared:
        """Return what @operation has stored on the method."""
        declared: Declared = getattr(self.view, self.view.action).declared
        return declared

    def get_operation_id(self) -> str:
        """Name an operation after its action and resource, as in listThreads and updatePersona.

        If two HTTP methods run the same action, the second operation's name ends with its method,
        as in escalateThreadByPost.
        """
        resource = type(self.view).__name__.removesuffix("ViewSet")
        verb, _, rest = self.view.action.partition("_")
        words = capitalized(rest) or (f"{resource}s" if verb == "list" else resource)
        named = f"{VERBS.get(verb, verb)}{words}"
        first = next(name for name, to in self.view.action_map.items() if to == self.view.action)
        return named if self.method.lower() == first else f"{named}By{self.method.capitalize()}"

    def get_tags(self) -> list[str]:
        """Tag an operation with its part of the API."""
        return [self.view.part]

    def get_summary(self) -> str:
        """Return the first line of the method's docstring, without the period."""
        line, *_ = super().get_description().splitlines()
        return str(line).removesuffix(".")

    def get_description(self) -> str:  # type: ignore[override]  # spectacular calls it by this name
        """Return the method's docstring without its first line."""
        _, *rest = super().get_description().splitlines()
        return "\n".join(rest).strip()

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema:
        """Add the errors that the operation can return."""
        operation: Schema = super().get_operation(*args, **kwargs) or {}
        done = operation["responses"][str(OK)]
        done["description"] = self.declared.message
        done["headers"] = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
        for status in self.possible_errors(operation):
            ref = f"#/components/responses/{ERRORS[status][0]}"
            operation["responses"][str(status)] = {"$ref": ref}
        return operation

    def possible_errors(self, operation: Schema) -> list[int]:
        """List an operation's error statuses, except 405, which only unsupported methods return."""
        places = {parameter["in"] for parameter in operation.get("parameters", ())}
        reads = "requestBody" in operation or "query" in places
        reads = reads or self.method.upper() == "POST"  # its Idempotency-Key could be invalid
        opens = "path" in places
        return [*([400] if reads else []), 401, *([403, 404] if opens else []), 429, 500]

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Schema:
        """Add a shape's required properties, rule, open points and examples to its schema.

        Every field of a record is required. No field of a partial body is required.
        """
        schema: Schema = super()._map_basic_serializer(serializer, direction)
        if getattr(serializer, "takes_any", False):
            schema["additionalProperties"] = True
        properties = schema["properties"]
        for name, part in properties.items():
            part.pop("readOnly", None)  # redundant: records occur only in responses
            properties[name] = with_example(part, name)
        if direction == "request" and self.declared.partial:
            schema.pop("required", None)
        if rule := getattr(serializer, "rule", None):
            schema["allOf"] = [rule]  # code generators read a oneOf next to properties as a union
        if direction == "response" and isinstance(serializer, Record):
            schema["required"] = sorted(properties)
        for name, points in getattr(serializer, "open_points", {}).items():
            properties[camel(name)]["x-open-point"] = [*points]
        if shown := getattr(serializer, "example", None):
            schema["examples"] = [shown]
        return schema

    def _map_serializer_field(self, field: Any, direction: Any, *args: Any, **kwargs: Any) -> Any:
        """Remove the title, which is meant for the admin, and add the pattern for nonblank text.

        The pattern is added only in requests, and only to fields that must not be blank and have no
        other pattern.
        """
        schema = super()._map_serializer_field(field, direction, *args, **kwargs)
        schema.pop("title", None)
        if direction == "request" and isinstance(field, wire.Text) and not field.allow_blank:
            given = any(isinstance(check, RegexValidator) for check in field.validators)
            schema |= {} if given else {"pattern": field.PATTERN}
        return schema
