"""Texts in the OpenAPI document that describe the API as a whole.

This module imports nothing, because the settings import it.
"""

TITLE = "Chatbot management and conversation service"
DESCRIPTION = (
    "Manage AI chatbots and their conversations. Every response is JSON, including errors. An "
    "`Error` body is also sent with 404 for an unknown path, with 405 for a method that the path "
    "does not support, and with 503 and Retry-After while the service is unavailable. Undocumented "
    "fields are ignored. `x-open-point` marks what the specification leaves open, with ids from "
    "docs/open-points.md; the ids that apply to all operations are at the top of this document."
)
SERVER = "The public address of this service."
TAGS = [
    {"name": "Chatbots", "description": "The chatbots of an account or of the caller."},
    {"name": "Appearance", "description": "How a chatbot looks."},
    {"name": "Localization", "description": "Interface texts by locale."},
    {"name": "Follow-up prompts", "description": "Buttons and links offered to visitors."},
    {"name": "Instructions", "description": "Instructions that tell a chatbot what to do."},
    {"name": "Personas", "description": "The roles that a chatbot plays."},
    {
        "name": "Lead settings",
        "description": "How a chatbot collects contact details, and who is notified.",
    },
    {"name": "Settings", "description": "General and user-data settings."},
    {"name": "Conversation starters", "description": "Suggestions for a visitor's first message."},
    {"name": "Threads", "description": "Conversations with visitors, and their escalation."},
    {"name": "Messages", "description": "The messages of a thread."},
    {"name": "Events", "description": "Requests that the service sends to a chatbot's webhook."},
]
# Open points that apply to the whole document. Operations and fields list their own open points.
OPEN_EVERYWHERE = [
    *("envelope", "messages", "unauthorized", "order-of-checks", "status-created"),
    *("status-closed", "code-field", "code-status", "types", "texts", "body-bounds"),
    *("unknown-fields", "timestamps", "pagination-bounds", "ids", "slash", "roles"),
    *("permissions", "foreign-chatbot", "api-key-form", "concurrency", "not-built"),
]
