"""The explanation of an AI message lists the personas in its prompt with the versions used."""

from chatbots.models import Version
from config.database.ids import new_id
from conversations.admin.origins import explained
from conversations.models import Message, ReplyOrigin, Thread
from conversations.models.message import MessageType
from tests.factories.conversations import MessageFactory

# 200 * 6 = 1,200 versions: more than SQLite's maximum of 1,000 conditions per query.
PERSONAS, MESSAGES = 200, 6


def test_a_page_of_messages_with_many_personas_is_explained(thread: Thread) -> None:
    personas = [new_id() for _ in range(PERSONAS)]
    Version.objects.bulk_create(
        Version(
            chatbot=thread.chatbot,
            kind="persona",
            row_id=persona,
            number=number,
            content={"title": f"Persona {number}"},
        )
        for persona in personas
        for number in range(1, MESSAGES + 1)
    )
    for number in range(1, MESSAGES + 1):
        message = MessageFactory(thread=thread, message_type=MessageType.AI_MESSAGE)
        ReplyOrigin.objects.create(
            message=message,
            settings_id=new_id(),
            settings_version=1,
            personas=[[str(persona), number] for persona in personas],
            history_length=0,
        )
    lines = explained(Message.objects.select_related("origin").order_by("position"))
    assert len(lines) == MESSAGES
    for number, explanation in enumerate(lines.values(), start=1):
        assert explanation[0].count(f"“Persona {number} v{number}”") == PERSONAS
