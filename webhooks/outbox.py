"""Record an event by storing its exact bytes in a delivery row, in the caller's transaction.

A change and the delivery that reports it are therefore committed together, or not at all.
"""

from uuid import UUID

from django.db.models.functions import Now

from chatbots.models import Chatbot
from config.database.prepared import insert
from webhooks import payloads
from webhooks.models import Delivery

NOW = Now()  # the database's clock, which the engine also uses


def record(
    chatbot: Chatbot, data: payloads.Data, *, thread_id: UUID | None, message_id: UUID | None = None
) -> Delivery | None:
    """Store a delivery that is due immediately, if the chatbot's endpoint subscribes to the event.

    Returns None if there is no endpoint, if it is off or not subscribed, or if the account lacks
    the add-on. Specification: Events, 2 and 3. Open point: delivery-config.
    """
    endpoint = getattr(chatbot, "endpoint", None)
    if not (endpoint and endpoint.is_active and chatbot.account.webhooks_enabled):
        return None
    if data.event not in endpoint.events:
        return None
    delivery = Delivery(
        chatbot=chatbot,
        account_id=chatbot.account_id,
        thread_id=thread_id,
        message_id=message_id,
        event=data.event,
        body=payloads.body(data),
        due_at=NOW,
    )
    insert(delivery)
    return delivery
