"""Generate examples for the OpenAPI document from its schemas, by property name or by type."""

import re
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import yaml

Schema = dict[str, Any]

# The parts of the document that no class defines
PARTS: Schema = yaml.safe_load(Path(__file__).with_name("openapi.yaml").read_text())

MOMENT = "2026-01-15T09:30:00.000Z"
COLOR = "#2563eb"
VALUES: dict[str, Any] = PARTS["examples"]


def example(schema: Schema, schemas: dict[str, Schema], name: str = "") -> Any:
    """Generate a value that fits a schema.

    `schemas` contains the schemas that a `$ref` may refer to. `name` is the property's name.
    """
    if "$ref" in schema:
        target = schema["$ref"].rpartition("/")[2]
        return example(schemas[target], schemas, name if name in VALUES else target)
    if "examples" in schema:
        return schema["examples"][0]
    if "oneOf" in schema:
        return example(schema["oneOf"][0], schemas, name)
    if schema.get("type") == "object" and "properties" in schema:
        return {
            inner: example(part, schemas, own_name(name, inner))
            for inner, part in schema["properties"].items()
        }
    if name in VALUES:
        return VALUES[name]
    for known in ("const", "default"):
        if known in schema:
            return schema[known]
    return of_type(schema, schemas, name)


def own_name(owner: str, name: str) -> str:
    """Return the name under which a property's example is looked up.

    This is `owner.property` if the property is `id` or if VALUES has that key. Otherwise, it is the
    property's own name.
    """
    both = f"{owner}.{name}"
    return both if name == "id" or both in VALUES else name


def of_type(schema: Schema, schemas: dict[str, Schema], name: str) -> Any:
    """Generate a value from a schema's type, for a property that has no example in VALUES."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"), schema.get("format"):
        case [*types], _ if "null" in types:
            return None
        case "array", _:
            return [example(schema["items"], schemas, name)]
        case "object", _:
            return {"greeting": "Hello!"}
        case "string", form if form == "uuid" or name.endswith("Id"):
            return str(uuid5(NAMESPACE_URL, name))
        case "string", "date-time":
            return MOMENT
        case "string", _ if schema.get("pattern", "").startswith("^#"):
            return COLOR
        case "boolean", _:
            return False
        case "integer", _:
            return max(schema.get("minimum", 0), 1)
        case "number", _:
            return 0.5
        case _:
            return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()
