"""What the OpenAPI document says of the whole API. Plain texts: settings import them."""

TITLE = "Chatbot management and conversation service"
DESCRIPTION = (
    "Manage AI chatbots and their conversations. Every answer is JSON, errors too: 404 for an "
    "unknown path, 405 for a method that a path is without and 503 with Retry-After while the "
    "service is not available also have the body Error. Fields "
    "beyond the documented ones are passed over. What the interface's specification leaves "
    "open is marked x-open-point, by the names of docs/open-points.md; points that hold "
    "everywhere stand at the top of this document."
)
SERVER = "Where clients reach this service."
TAGS = [
    {"name": "Chatbots", "description": "The chatbots of an account, and those of the caller."},
    {"name": "Appearance", "description": "How a chatbot looks."},
    {"name": "Localization", "description": "Interface texts by locale."},
    {"name": "Follow-up prompts", "description": "What a visitor is offered to press."},
    {"name": "Instructions", "description": "What a chatbot is told to do."},
    {"name": "Personas", "description": "The roles that a chatbot plays."},
    {"name": "Lead settings", "description": "Whose contact is asked for, and who is told."},
    {"name": "Settings", "description": "General and user-data settings."},
    {"name": "Conversation starters", "description": "What a conversation can begin with."},
    {"name": "Threads", "description": "Conversations of visitors, and their escalation."},
    {"name": "Messages", "description": "What is said in a thread."},
    {"name": "Events", "description": "What the service tells a chatbot's webhook."},
]
# Open points that apply to the whole document. Operations and fields name their own.
OPEN_EVERYWHERE = [
    *("envelope", "messages", "unauthorized", "order-of-checks", "status-created"),
    *("status-closed", "code-field", "code-status", "types", "texts", "body-bounds"),
    *("unknown-fields", "timestamps", "pagination-bounds", "ids", "slash", "roles"),
    *("permissions", "foreign-chatbot", "api-key-form", "concurrency", "not-built"),
]
