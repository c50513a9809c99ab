"""What the OpenAPI document says of the whole API. Plain texts: settings import them."""

TITLE = "Chatbot management and conversation service"
DESCRIPTION = (
    "Manage AI chatbots and their conversations. Every response is JSON, including errors: 404 "
    "for an unknown path, 405 for a method that a path does not support and 503 with Retry-After "
    "while the service is unavailable also have the body Error. Undocumented fields are ignored. "
    "What the specification leaves open is marked x-open-point, with the names of "
    "docs/open-points.md; points that apply to all operations are at the top of this document."
)
SERVER = "Where clients reach this service."
TAGS = [
    {"name": "Chatbots", "description": "The chatbots of an account, and those of the caller."},
    {"name": "Appearance", "description": "How a chatbot looks."},
    {"name": "Localization", "description": "Interface texts by locale."},
    {"name": "Follow-up prompts", "description": "Buttons that a visitor is offered."},
    {"name": "Instructions", "description": "What a chatbot should do."},
    {"name": "Personas", "description": "The roles that a chatbot plays."},
    {
        "name": "Lead settings",
        "description": "Whose contact details are asked for, and who is notified.",
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
