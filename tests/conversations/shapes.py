"""The documented shapes of threads and messages: field names and permitted JSON types."""

from typing import Any

NONE = type(None)

THREAD: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    "visitorId": str,
    "title": str,
    "anonymous": bool,
    "escalated": bool,
    "important": bool,
    "resolved": bool,
    "archived": bool,
    "unreadMessagesCount": int,
    "positiveCount": int,
    "negativeCount": int,
    "tags": list,
    "platformSource": str,
    "startedAt": str,
    "updatedAt": str,
    "endedAt": (str, NONE),
    "visitorName": str,
    "visitorEmail": str,
    "visitorPhone": str,
    "botIconSrc": str,
    "userIconSrc": str,
    "agentIconSrc": str,
    "bubbleIconSrc": str,
    "llmModel": dict,
}
DETAILS: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    "visitorId": str,
    "anonymous": bool,
    "escalated": bool,
    "important": bool,
    "resolved": bool,
    "archived": bool,
    "visitorIsIdentified": bool,
    "unreadMessagesCount": int,
    "positiveCount": int,
    "negativeCount": int,
    "visitorTotalSessions": int,
    "visitorTotalMessages": int,
    "webhookUrl": str,
    "webhookToken": str,
    "tags": list,
    "internalNotes": str,
    "platformSource": str,
    "startedAt": str,
    "updatedAt": str,
    "endedAt": (str, NONE),
    "visitorFirstSeenAt": str,
    "visitorLastSeenAt": str,
    "visitorName": str,
    "visitorEmail": str,
    "visitorPhoneNumber": str,
}
MESSAGE: dict[str, Any] = {
    "id": str,
    "threadId": str,
    "chatbotId": str,
    "messageType": str,
    "systemMessageType": (str, NONE),
    "content": str,
    "contentTimestamp": str,
    "agentName": (str, NONE),
    "parentMessageId": (str, NONE),
    "llmModelId": (str, NONE),
    "reaction": (str, NONE),
    "source": list,
    "isEdited": bool,
    "editedBy": (str, NONE),
    "editedAt": (str, NONE),
    "createdAt": str,
    "updatedAt": str,
}
STATE: dict[str, Any] = {"id": str, "mode": str, "anonymous": bool, "unreadMessagesCount": int}


def check(record: dict[str, Any], shape: dict[str, Any]) -> None:
    """Assert that a record has exactly the shape's fields, in order, and that their types match."""
    assert list(record) == list(shape)
    wrong = {
        name: record[name] for name, kind in shape.items() if not isinstance(record[name], kind)
    }
    assert not wrong
    assert not [name for name, kind in shape.items() if kind is int and type(record[name]) is bool]
