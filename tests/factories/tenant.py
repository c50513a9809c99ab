"""An account with rows of many kinds, in which most texts contain a given word."""

from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model
from django.utils import timezone

from accounts.models import Account, Change, Invitation, Mail, Usage, User
from accounts.services import api_key
from chatbots.models import Chatbot
from conversations.models import CannedReply, Draft, TimelineEntry
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.chatbots import (
    ChatbotFactory,
    ChatbotMemberFactory,
    FollowUpPromptFactory,
    InstructionFactory,
    LeadSettingsFactory,
    PersonaFactory,
)
from tests.factories.conversations import (
    LeadFactory,
    MessageFactory,
    ThreadFactory,
    VisitorFactory,
)
from tests.factories.row import in_trail
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Attempt
from webhooks.services import retry_job
from webhooks.services.selection import Selection


class Tenant:
    """The rows of one account, created together with their audit trail entries."""

    def __init__(self, word: str) -> None:
        self.word = word
        with in_trail():
            self.create()

    def create(self) -> None:
        """Create all rows, and list them in `rows`."""
        word = self.word
        self.owner: User = UserFactory(email=f"{word}-owner@example.com", name=f"{word} owner")
        self.member: User = UserFactory(email=f"{word}-member@example.com", name=f"{word} member")
        self.account: Account = AccountFactory(name=f"{word} account", owner=self.owner)
        self.chatbot: Chatbot = ChatbotFactory(
            account=self.account, name=f"{word} bot", description=word
        )
        month = timezone.now().date().replace(day=1)
        self.rows: list[Model] = [
            self.owner,
            self.member,
            self.account,
            self.chatbot,
            *self.chatbot.localizations.all(),
            MembershipFactory(account=self.account, user=self.member),
            Invitation.objects.create(account=self.account, email=f"{word}-new@example.com"),
            Usage.objects.create(account=self.account, month=month, messages=7),
            Mail.objects.create(
                account=self.account, to=f"{word}@example.com", subject=word, body=word
            ),
            api_key.issue(self.owner, label=word)[0],
            *self.settings(),
            *self.conversation(),
            *self.changes(),
        ]

    def settings(self) -> list[Model]:
        """Create the rows that configure the chatbot."""
        chatbot, word = self.chatbot, self.word
        return [
            ChatbotMemberFactory(chatbot=chatbot, user=self.member, role=word),
            InstructionFactory(chatbot=chatbot, title=f"{word} instruction", instruction=word),
            PersonaFactory(chatbot=chatbot, title=f"{word} persona"),
            FollowUpPromptFactory(chatbot=chatbot, button_title=word),
            LeadSettingsFactory(chatbot=chatbot, industry_template=word),
            EndpointFactory(
                chatbot=chatbot,
                url=f"https://{word}.example.com/hook",
                failing_since=timezone.now(),
            ),
        ]

    def conversation(self) -> list[Model]:
        """Create a conversation with a draft and a lead, a failed delivery, and a retry job."""
        chatbot, word = self.chatbot, self.word
        visitor = VisitorFactory(
            chatbot=chatbot, name=f"{word} visitor", email=f"{word}@visitor.example"
        )
        thread = ThreadFactory(
            chatbot=chatbot,
            visitor=visitor,
            title=f"{word} title",
            escalated=True,
            tags=[word],
            unread_messages_count=1,
        )
        message = MessageFactory(thread=thread, content=f"{word} words")
        delivery = DeliveryFactory(
            chatbot=chatbot,
            thread_id=thread.pk,
            state="FAILED",
            due_at=None,
            last_detail=word,
            body=f'{{"{word}":1}}'.encode(),
        )
        attempt = Attempt.objects.create(
            delivery=delivery, number=1, status="FAILED", detail=word, started_at=timezone.now()
        )
        draft = Draft.objects.create(message=message, content=f"{word} draft")
        lead = LeadFactory(thread=thread, name=f"{word} lead")
        job = retry_job.start(Selection(), [chatbot.pk], per_second=1, by=f"{word} owner")
        TimelineEntry.objects.create(thread=thread, position=1, kind="NOTE", text=word)
        canned = CannedReply.objects.create(account=self.account, name=word.lower(), text=word)
        return [visitor, thread, message, delivery, attempt, draft, lead, job, canned]

    def changes(self) -> list[Model]:
        """Return the audit trail entries for the creation of the account and of a user.

        The entry for the user belongs to no account.
        """
        return [
            Change.objects.get(object_pk=str(row.pk), action=Change.Action.CREATE)
            for row in (self.account, self.member)
        ]

    def keys_of(self, model: type[Model]) -> list[str]:
        """Return the ids of a model's rows."""
        return [str(row.pk) for row in self.rows if isinstance(row, model)]

    def snapshot(self) -> list[tuple[Any, ...] | None]:
        """Read all columns of all rows from the database."""
        with connection.cursor() as cursor:
            return [columns(cursor, row) for row in self.rows]


def columns(cursor: CursorWrapper, row: Model) -> tuple[Any, ...] | None:
    """Read a stored row in plain SQL, because building a queryset for each row would be slow."""
    key, quote = row._meta.pk, connection.ops.quote_name
    cursor.execute(
        f"SELECT * FROM {quote(row._meta.db_table)} WHERE {quote(str(key.column))} = %s",
        [key.get_db_prep_value(row.pk, connection)],
    )
    return cursor.fetchone()
