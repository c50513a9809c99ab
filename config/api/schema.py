"""Complete the OpenAPI document with what serializers do not define: names, errors, examples."""

from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_lib_doc_excludes

from config.api import fields as wire
from config.api.error_schemas import REQUEST_ID_HEADER, RESPONSES, schemas
from config.api.examples import Schema, example
from config.api.naming import camel, capitalized
from config.api.operation import OK, Declared
from config.api.serializers import Record, Shape

JSON = "application/json"
REQUEST_ID_PARAMETER = {
    "name": "X-Request-Id",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "Your own id for the request: up to 64 letters, digits, dots, dashes and "
    "underscores. The response and the log lines contain it. Any other value is ignored.",
}
VERBS = {"retrieve": "get", "destroy": "delete"}
GIVEN = ("Input", "Changes", "Choice")  # suffixes of the names of request body schemas


def library_classes() -> list[type]:
    """List the base classes whose docstrings are for developers, not for integrators."""
    return [*get_lib_doc_excludes(), Shape, Record]


def only_the_api(endpoints: list[Any]) -> list[Any]:
    """Keep only the paths below /api. Probes and pages are not part of the contract."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/api/")]


def name_inputs(result: Schema, **_: Any) -> Schema:
    """Name a request body's schema with a suffix from GIVEN, by default "Input".

    Spectacular appends "Request" to the name of the serializer.
    """

    def named(name: str) -> str:
        plain = name.removesuffix("Request")
        return name if plain == name else plain if plain.endswith(GIVEN) else f"{plain}Input"

    def renamed(part: Any) -> Any:
        match part:
            case str() if part.startswith("#/components/schemas/"):
                return named(part)
            case dict():
                return {key: renamed(value) for key, value in part.items()}
            case list():
                return [renamed(value) for value in part]
        return part

    schemas = result["components"]["schemas"]
    result["components"]["schemas"] = {named(name): schemas[name] for name in schemas}
    made: Schema = renamed(result)
    return made


def add_shared_parts(result: Schema, **_: Any) -> Schema:
    """Add the components that operations refer to: errors and the request's id."""
    components = result["components"]
    components["schemas"] = dict(sorted((components["schemas"] | schemas()).items()))
    components["responses"] = {answer.name: answer.document() for answer in RESPONSES.values()}
    components["headers"] = {"RequestId": REQUEST_ID_HEADER}
    components["parameters"] = {"RequestId": REQUEST_ID_PARAMETER}
    for path in result["paths"].values():
        for operation in path.values():
            parameters = operation.setdefault("parameters", [])
            parameters.append({"$ref": "#/components/parameters/RequestId"})
    return result


class BearerScheme(OpenApiAuthenticationExtension):
    """Documents the API key. Specification: Authentication, 1."""

    target_class = "accounts.authentication.BearerAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the OpenAPI security scheme."""
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key issued by this service.",
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
        """Add examples, and the errors that the operation can return."""
        operation: Schema = super().get_operation(*args, **kwargs) or {}
        known = self.registry.build({})["schemas"]
        if given := operation.get("requestBody"):
            media = given["content"][JSON]
            media["example"] = example(media["schema"], known)
        done = operation["responses"][str(OK)]
        done["description"] = self.declared.message
        done["headers"] = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
        media = done["content"][JSON]
        media["example"] = example(media["schema"], known) | {"message": self.declared.message}
        for status in self.possible_errors(operation):
            ref = f"#/components/responses/{RESPONSES[status].name}"
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
        """Add a shape's required properties, rule, open points and example to its schema.

        Every field of a record is required. No field of a partial body is required.
        """
        schema: Schema = super()._map_basic_serializer(serializer, direction)
        if getattr(serializer, "takes_any", False):
            schema["additionalProperties"] = True
        properties = schema["properties"]
        for part in properties.values():
            part.pop("readOnly", None)  # redundant: records occur only in responses
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
