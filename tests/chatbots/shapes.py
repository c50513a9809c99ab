"""The documented shapes of chatbots and their settings: field names and JSON types."""

from typing import Any

from chatbots.texts import NAMES

NONE = type(None)

NEW_CHATBOT: dict[str, Any] = {
    "chatbotId": str,
    "accountId": str,
    "name": str,
    "description": str,
    "isActive": bool,
}
CHATBOT: dict[str, Any] = {
    "chatbotId": str,
    "name": str,
    "description": str,
    "isActive": bool,
    "createdByUserId": (str, NONE),
    "createdAt": str,
    "updatedAt": str,
}
MY_CHATBOT: dict[str, Any] = {**CHATBOT, "accountId": str, "userChatbotRole": (str, NONE)}
APPEARANCE: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    **dict.fromkeys(
        ("tooltip", "welcomeMessage", "inputPlaceholderText", "externalLink"),
        str,
    ),
    **dict.fromkeys(
        ("brandPrimaryColor", "brandTextColor", "brandIconBgColor", "linkColor"),
        str,
    ),
    **dict.fromkeys(
        (
            "showBackground",
            "watermarkBrandInfoShow",
            "hideWatermarkService",
            "rightToLeftMode",
            "enableDarkMode",
        ),
        bool,
    ),
    **dict.fromkeys(("fontSize", "chatHeight"), int),
    **dict.fromkeys(("iconSize", "iconPosition", "defaultMode", "iconShape"), str),
    **dict.fromkeys(("watermarkBrandIcon", "watermarkBrandText", "watermarkBrandLink"), str),
    **dict.fromkeys(
        (
            "distanceFromBottomDesktop",
            "horizontalDistanceDesktop",
            "distanceFromBottomMobile",
            "horizontalDistanceMobile",
        ),
        int,
    ),
    **dict.fromkeys(("botIconSrc", "userIconSrc", "agentIconSrc", "bubbleIconSrc"), str),
    "fontFamily": dict,
    "createdAt": str,
    "updatedAt": str,
}
LOCALIZATION: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    "localeCode": str,
    "updatedAt": str,
    **dict.fromkeys(NAMES, str),
}
FOLLOW_UP_PROMPT: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    "rank": int,
    "esclate": bool,
    "buttonTitle": str,
    "buttonMessage": str,
    "linkText": str,
    "linkSrc": str,
    "createdAt": str,
    "updatedAt": str,
}
INSTRUCTION: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    "title": str,
    "instruction": str,
    "deletable": bool,
    "isActive": bool,
    "createdAt": str,
    "updatedAt": str,
}
PERSONA: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    "title": str,
    "description": (str, NONE),
    "instructions": str,
    "creativityLevel": (int, float),
    "deletable": bool,
    "isActive": bool,
    "createdAt": str,
    "updatedAt": str,
}
USER_DATA: dict[str, Any] = dict.fromkeys(
    ("enableLeadCollection", "customerNameTake", "customerPhoneTake", "customerEmailTake"), bool
)
LEAD_SETTINGS: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    **USER_DATA,
    "industryTemplate": str,
    "whenToCollectLead": str,
    "customerTriggerKeywords": str,
    "bookingIntegration": bool,
    "bookingIntegrationLink": str,
    "leadNotification": bool,
    "leadNotificationEmail": list,
    "customerFormField": list,
    "autoEscalateOnLeadCapture": bool,
    "createdAt": str,
    "updatedAt": str,
}
GENERAL: dict[str, Any] = {
    "id": str,
    "chatbotId": str,
    "description": str,
    "disableSmartFollowup": bool,
    "numberOfSmartFollowupQuestionShown": int,
    "enablePageContextAwareness": bool,
    "historyMessageContext": int,
    "llmId": str,
    "limitMessagesPerConversation": bool,
    "maxMessagesPerConversation": int,
    "fallbackMessage": str,
    "chatStart": str,
    "createdAt": str,
    "updatedAt": str,
}
ALL_SETTINGS: dict[str, Any] = {**GENERAL, **USER_DATA}
NOT_SETTABLE = {"id", "chatbotId", "createdAt", "updatedAt"}

WRONG: dict[type, list[Any]] = {  # for each expected type, values that must be rejected
    str: [5, 1.5, True, None, [], {}],
    bool: ["true", "", 0, 1, None, [], {}],
    int: ["1", "", 1.0, 1.5, True, None, [], {}, -1, 2**31],
    dict: ["x", 5, True, None, []],
    list: ["x", 5, True, None, {}],
}


def settable(shape: dict[str, Any], *, without: set[str] | None = None) -> list[str]:
    """Return the fields of a shape that a request body may set, except those in `without`."""
    return [name for name in shape if name not in NOT_SETTABLE | (without or set())]


def check(record: dict[str, Any], shape: dict[str, Any]) -> None:
    """Assert that a record has exactly the fields of a shape, with values of the right types."""
    assert sorted(record) == sorted(shape)
    wrong = {
        name: record[name]
        for name, kind in shape.items()
        if not isinstance(record[name], kind) or (kind is int and isinstance(record[name], bool))
    }
    assert not wrong
