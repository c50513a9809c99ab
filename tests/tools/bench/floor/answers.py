"""The floor's responses to the four read requests and to the update of a chatbot.

application.py explains what the floor is.
"""

from collections.abc import Callable
from typing import Any

import orjson

from tests.tools.bench.floor.opened import SQL, one, store

key, ident, moment, flag = store.key, store.ident, store.moment, store.flag
Wire = dict[str, Any]


def state(thread: Any, *, escalated: Any, anonymous: Any, contact: bool, unread: int) -> Wire:
    return {
        "id": thread,
        "mode": "AGENT" if escalated else "AI",
        "anonymous": not contact if anonymous is None else flag(anonymous),
        "unreadMessagesCount": unread,
    }


def message(row: Any, chatbot: str, thread: str) -> Wire:
    return {
        "id": ident(row[0]),
        "threadId": thread,
        "chatbotId": chatbot,
        "messageType": row[1],
        "systemMessageType": row[2],
        "content": row[3],
        "contentTimestamp": (created := moment(row[12])),
        "agentName": row[4],
        "parentMessageId": ident(row[5]),
        "llmModelId": ident(row[6]),
        "reaction": row[7],
        "source": store.free(row[8]),
        "isEdited": flag(row[9]),
        "editedBy": row[10],
        "editedAt": moment(row[11]),
        "createdAt": created,
        "updatedAt": moment(row[13]),
    }


def history(user: Any, chatbot: str, thread: str) -> Wire:
    found = one(store.rows(SQL.THREAD, key(thread), key(chatbot), user))
    rows = store.rows(SQL.HISTORY, key(thread))
    page = [message(row, chatbot, thread) for row in rows[:20]]
    more = len(rows) > 20
    _, escalated, anonymous, email, phone, unread = found
    contact = bool(email.strip() or phone.strip())
    return {
        "messages": page,
        "thread": state(
            thread, escalated=escalated, anonymous=anonymous, contact=contact, unread=unread
        ),
        "pagination": {
            "limit": 20,
            "hasMore": more,
            "nextCursor": page[-1]["id"] if more else None,
        },
    }


def thread_of(row: Any, chatbot: str, shared: Wire) -> Wire:
    return {
        "id": ident(row[0]),
        "chatbotId": chatbot,
        "visitorId": row[1],
        "title": row[2],
        "anonymous": not (row[17].strip() or row[18].strip()) if row[3] is None else flag(row[3]),
        "escalated": flag(row[4]),
        "important": flag(row[5]),
        "resolved": flag(row[6]),
        "archived": flag(row[7]),
        "unreadMessagesCount": row[8],
        "positiveCount": row[9],
        "negativeCount": row[10],
        "tags": store.free(row[11]),
        "platformSource": row[12],
        "startedAt": moment(row[13]),
        "updatedAt": moment(row[14]),
        "endedAt": moment(row[15]),
        "visitorName": row[16],
        "visitorEmail": row[17],
        "visitorPhone": row[18],
        **shared,
    }


def threads(user: Any, chatbot: str) -> Wire:
    total, *icons, model, provider, title = one(store.rows(SQL.CHATBOT, key(chatbot), user))
    names = ("botIconSrc", "userIconSrc", "agentIconSrc", "bubbleIconSrc")
    llm = {"id": ident(model), "provider": provider, "title": title} if model else None
    shared = dict(zip(names, icons, strict=True)) | {"llmModel": llm}
    return {
        "threads": [
            thread_of(row, chatbot, shared) for row in store.rows(SQL.THREADS, key(chatbot))
        ],
        "pagination": {"page": 1, "limit": 20, "total": total, "pages": -(-total // 20)},
    }


def my_chatbots(user: Any) -> Wire:
    accounts, count = [], 0
    for account, name, role in store.rows(SQL.ACCOUNTS, user, user):
        chatbots = [
            {
                "chatbotId": ident(row[0]),
                "accountId": ident(row[1]),
                "name": row[2],
                "description": row[3],
                "isActive": flag(row[4]),
                "createdByUserId": ident(row[5]),
                "createdAt": moment(row[6]),
                "updatedAt": moment(row[7]),
                "userChatbotRole": row[8],
            }
            for row in store.rows(SQL.CHATBOTS, user, account, role)
        ]
        count += len(chatbots)
        accounts.append(
            {
                "accountId": ident(account),
                "accountName": name,
                "userRole": role,
                "chatbots": chatbots,
            }
        )
    return {"accounts": accounts, "totalCount": count}


LEAD_NAMES = (
    *("enableLeadCollection", "customerNameTake", "customerPhoneTake", "customerEmailTake"),
    *("industryTemplate", "whenToCollectLead", "customerTriggerKeywords", "bookingIntegration"),
    *("bookingIntegrationLink", "leadNotification", "leadNotificationEmail"),
    *("customerFormField", "autoEscalateOnLeadCapture"),
)
LEAD_KINDS: tuple[Callable[[Any], Any], ...] = (
    *(flag, flag, flag, flag),
    *(str, str, str, flag),
    *(str, flag, store.free),
    *(store.free, flag),
)


def lead_settings(user: Any, chatbot: str) -> Wire:
    row = one(store.rows(SQL.LEAD_SETTINGS, key(chatbot), user))
    return {
        "id": ident(row[0]),
        "chatbotId": ident(row[1]),
        **{
            name: kind(value)
            for name, kind, value in zip(LEAD_NAMES, LEAD_KINDS, row[2:15], strict=True)
        },
        "createdAt": moment(row[15]),
        "updatedAt": moment(row[16]),
    }


def change(user: Any, account: str, chatbot: str, body: bytes) -> Wire:
    description = orjson.loads(body)["description"]
    row = one(
        store.write_one(SQL.CHANGE, description, store.now(), key(chatbot), key(account), user)
    )
    return {
        "chatbotId": ident(row[0]),
        "name": row[1],
        "description": row[2],
        "isActive": flag(row[3]),
        "createdByUserId": ident(row[4]),
        "createdAt": moment(row[5]),
        "updatedAt": moment(row[6]),
    }
