"""What the OpenAPI document says about the whole API, in plain strings for the settings."""

TITLE = "Chatbot management and conversation service"
DESCRIPTION = (
    "Manage AI chatbots and their conversations. Every response is JSON, including errors. The "
    "body Error is also sent with 404 for an unknown path, 405 for a method that a path does not "
    "support, and 503 with Retry-After while the service is unavailable. Undocumented fields are "
    "ignored. What the specification leaves open is marked x-open-point, with the ids in "
    "docs/open-points.md; points that apply to all operations are at the top of this document."
)
SERVER = "Where clients reach this service."
TAGS = [
    {"name": "Chatbots", "description": "The chatbots of an account, and those of the caller."},
    {"name": "Appearance", "description": "How a chatbot looks."},
    {"name": "Localization", "description": "Interface texts by locale."},
    {"name": "Follow-up prompts", "description": "Buttons and links that a visitor is offered."},
    {"name": "Instructions", "description": "What a chatbot should do."},
    {"name": "Personas", "description": "The roles that a chatbot plays."},
    {
        "name": "Lead settings",
        "description": "Which contact details visitors are asked for, and who is notified.",
    },
    {"name": "Settings", "description": "General and user-data settings."},
    {"name": "Conversation starters", "description": "Suggestions for a visitor's first message."},
    {"name": "Threads", "description": "Conversations of visitors, and their escalation."},
    {"name": "Messages", "description": "The messages of a thread."},
    {"name": "Events", "description": "What the service sends to a chatbot's webhook."},
]
# Open points that apply to the whole document. Operations and fields name their own.
OPEN_EVERYWHERE = [
    *("envelope", "messages", "unauthorized", "order-of-checks", "status-created"),
    *("status-closed", "code-field", "code-status", "types", "texts", "body-bounds"),
    *("unknown-fields", "timestamps", "pagination-bounds", "ids", "slash", "roles"),
    *("permissions", "foreign-chatbot", "api-key-form", "concurrency", "not-built"),
]
