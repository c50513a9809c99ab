"""Generate examples for the OpenAPI document from its schemas, by property name or by type."""

import re
from typing import Any
from uuid import NAMESPACE_URL, uuid5

Schema = dict[str, Any]

MOMENT = "2026-01-15T09:30:00.000Z"
COLOR = "#2563eb"
VALUES: dict[str, Any] = {
    "EscalatedUserPayload.name": "Ada Example",
    "LeadDetailsPayload.name": "Ada Example",
    "LeadInfoPayload.name": "Ada Example",
    "accountName": "Example Shop",
    "agentName": None,
    "brandTextColor": "#ffffff",
    "bookingIntegrationLink": "https://example.com/book",
    "botIconSrc": "https://example.com/bot.png",
    "buttonMessage": "I would like to talk to a person.",
    "buttonTitle": "Talk to a person",
    "chatbotName": "Doorman",
    "content": "Do you deliver on Saturdays?",
    "dashboardUrl": "https://bots.example.com/admin/conversations/thread/",
    "description": "Answers questions about delivery",
    "display_label": "Order number",
    "email": "ada@example.com",
    "externalLink": "https://example.com",
    "fallbackMessage": "I cannot answer right now. Please try again in a moment.",
    "field_name": "order_number",
    "fontFamily": {"name": "Inter"},
    "instruction": "Answer questions about orders and delivery. Be brief and friendly.",
    "instructions": "Speak like a helpful shop assistant.",
    "isActive": True,
    "leadNotificationEmail": ["sales@example.com"],
    "limitMessagesPerConversation": True,
    "linkColor": "#1d4ed8",
    "localeCode": "en",
    "messageType": "USER_MESSAGE",
    "mode": "AI",
    "name": "Doorman",
    "options": "",
    "pages": 1,
    "phone": "+1 555 0100",
    "platformSource": "website",
    "provider": "offline",
    "reaction": "POSITIVE",
    "question": "Do you deliver on Saturdays?",
    "role": "user",
    "sources": [],
    "systemMessageType": None,
    "tags": ["delivery"],
    "title": "Delivery",
    "total": 1,
    "totalCount": 1,
    "url": "https://example.com/delivery",
    "userChatbotRole": "MEMBER",
    "userRole": "OWNER",
    "visitorEmail": "ada@example.com",
    "visitorId": "visitor-1",
    "visitorName": "Ada Example",
    "visitorPhone": "+1 555 0100",
    "visitorPhoneNumber": "+1 555 0100",
    "webhookToken": "****aple",
    "webhookUrl": "https://example.com/hooks/chatbot",
}


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
