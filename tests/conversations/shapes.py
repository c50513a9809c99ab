"""The documented shapes of threads and messages: the names of their fields, in order."""

from typing import Any

THREAD = """
    id chatbotId visitorId title anonymous escalated important resolved archived
    unreadMessagesCount positiveCount negativeCount tags platformSource startedAt updatedAt endedAt
    visitorName visitorEmail visitorPhone botIconSrc userIconSrc agentIconSrc bubbleIconSrc llmModel
"""
DETAILS = """
    id chatbotId visitorId anonymous escalated important resolved archived visitorIsIdentified
    unreadMessagesCount positiveCount negativeCount visitorTotalSessions visitorTotalMessages
    webhookUrl webhookToken tags internalNotes platformSource startedAt updatedAt endedAt
    visitorFirstSeenAt visitorLastSeenAt visitorName visitorEmail visitorPhoneNumber
"""
MESSAGE = """
    id threadId chatbotId messageType systemMessageType content contentTimestamp agentName
    parentMessageId llmModelId reaction source isEdited editedBy editedAt createdAt updatedAt
"""
STATE = "id mode anonymous unreadMessagesCount"


def check(record: dict[str, Any], shape: str) -> None:
    """Assert that a record has exactly the shape's fields, in order.

    The types of the fields are those of the recorded responses in tests/contract.
    """
    assert list(record) == shape.split()
