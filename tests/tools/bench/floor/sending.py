"""The floor's response to a visitor's message.

The floor commits the message durably, generates the reply with the built-in model, and commits the
reply.
"""

from datetime import UTC, datetime
from typing import Any

import orjson
from uuid_utils.compat import uuid7

from chatbots.llm import offline
from tests.tools.bench.floor.answers import Wire, state
from tests.tools.bench.floor.opened import SQL, Refused, counters, one, store

MINUTE = 60
UNBOUNDED = 2**31 - 1
key, ident, moment = store.key, store.ident, store.moment


def send(user: Any, chatbot: str, thread: str, body: bytes) -> Wire:
    """Store a message, then generate and store the reply. Returns the response data."""
    content = orjson.loads(body)["content"]
    pk, claim, now = key(uuid7()), key(uuid7()), store.now()
    with store.transaction():
        found = one(store.rows(SQL.SEND, content, key(thread), key(chatbot), user))
        visitor, escalated, anonymous, email, phone = found[:5]
        account, messages, replies, monthly, limited, most, _events, escalates = found[7:]
        calls = counters.count({f"messages:{account}": MINUTE, f"replies:{account}": MINUTE})
        full = limited and found[6] >= most
        if calls[0] > messages or calls[1] > replies or full or escalates or escalated:
            raise Refused("429 Too Many Requests")
        [[position, unread]] = store.rows(SQL.ASKED, False, now, key(thread))
        asked = (pk, now, now, key(thread), position, "USER_MESSAGE", content)
        store.write(SQL.MESSAGE, *asked, None, None, None, False)
        store.write(SQL.VISITOR, now, visitor)
        store.write(SQL.OWED, pk, claim, now)
        month = datetime.now(UTC).strftime("%Y-%m-01")
        store.write(SQL.USAGE, account, month, UNBOUNDED if monthly is None else monthly)
    facts, length, _, model, _ = one(store.rows(SQL.BRIEFING, key(chatbot)))
    store.rows(SQL.PERSONAS, key(chatbot))
    store.rows(SQL.SAID, key(thread), position, length)
    reply = offline.answer(content, facts)
    answer, later = key(uuid7()), store.now()
    with store.transaction():
        [[position]] = store.rows(SQL.ANSWERED, later, key(thread))
        answered = (answer, later, later, key(thread), position, "AI_MESSAGE", reply.content)
        store.write(SQL.PAID, pk, claim)
        store.write(SQL.MESSAGE, *answered, pk, model, 0, False)
    contact = bool(email.strip() or phone.strip())
    said = message(asked, chatbot=chatbot, thread=thread)
    told = message(answered, chatbot=chatbot, thread=thread)
    told |= {"parentMessageId": ident(pk), "llmModelId": ident(model)}
    told["source"] = reply.sources
    return {
        "messages": [said, told],
        "thread": state(
            thread, escalated=escalated, anonymous=anonymous, contact=contact, unread=unread
        ),
    }


def message(row: tuple[Any, ...], *, chatbot: str, thread: str) -> Wire:
    """Return a newly stored message in the wire format."""
    created = moment(row[1])
    return {
        "id": ident(row[0]),
        "threadId": thread,
        "chatbotId": chatbot,
        "messageType": row[5],
        "systemMessageType": None,
        "content": row[6],
        "contentTimestamp": created,
        "agentName": None,
        "parentMessageId": None,
        "llmModelId": None,
        "reaction": None,
        "source": [],
        "isEdited": False,
        "editedBy": None,
        "editedAt": None,
        "createdAt": created,
        "updatedAt": created,
    }
