"""The rows that the API benchmark reads and writes: the demo data, and eight more bots."""

from dataclasses import dataclass

from accounts.models import Account, Plan
from accounts.services import api_key
from chatbots.models import Chatbot
from chatbots.services.chatbot import create_chatbot
from conversations import demo
from conversations.demo import Talk, converse
from conversations.models import Thread, Visitor
from tests.factories import bulk
from tests.factories.accounts import AccountFactory, PlanFactory
from tests.factories.chatbots import ChatbotFactory, LeadSettingsFactory
from tests.factories.conversations import ThreadFactory

BOTS, THREADS, MESSAGES = 8, 100, 60
WITHOUT_BOUND = 1_000_000_000  # a plan limit that is never reached


@dataclass(frozen=True)
class Rows:
    """A caller's API key, and the ids that appear in the paths of the requests."""

    key: str
    account: str
    chatbot: str
    thread: str  # the thread that is read
    threads: tuple[str, ...]  # the threads that messages are sent to, one per connection


@dataclass(frozen=True)
class Chats:
    """A caller's API key, a chatbot in the caller's account, and the API paths of its threads."""

    key: str
    chatbot: Chatbot
    threads: tuple[str, ...]


def make(*, connections: int) -> Rows:
    """Create the rows, with a separate thread for each connection that sends messages."""
    demo.seed()
    Plan.objects.update(messages_per_minute=WITHOUT_BOUND, ai_replies_per_minute=WITHOUT_BOUND)
    account = Account.objects.get(name="Acme")
    names = [f"Bench {number}" for number in range(BOTS)]
    first, *_ = [
        create_chatbot(
            account, creator_id=account.owner_id, name=name, description="answers questions"
        )
        for name in names
    ]
    LeadSettingsFactory(chatbot=first)
    talks = [
        converse(first, Talk(f"visitor-{number}", f"Visitor {number}", MESSAGES))
        for number in range(connections + 1)
    ]
    add_threads(first)
    bulk.settle()
    return Rows(
        key=api_key.issue(account.owner)[1],
        account=str(account.pk),
        chatbot=str(first.pk),
        thread=str(talks[0].pk),
        threads=tuple(str(talk.pk) for talk in talks[1:]),
    )


def add_threads(chatbot: Chatbot) -> None:
    """Create a hundred threads for a bot, each with its own visitor."""
    visitors = Visitor.objects.bulk_create(
        Visitor(
            chatbot=chatbot,
            external_id=f"reader-{number}",
            name=f"Reader {number}",
            email=f"reader-{number}@example.com",
            total_sessions=1,
        )
        for number in range(THREADS)
    )
    Thread.objects.bulk_create(
        Thread(chatbot=chatbot, visitor=visitor, title="Where is my parcel?", tags=["parcel"])
        for visitor in visitors
    )


def add_accounts(count: int, *, threads: int) -> list[Chats]:
    """Create accounts, each with a caller, a chatbot and threads."""
    plan = PlanFactory()
    Plan.objects.update(messages_per_minute=WITHOUT_BOUND, ai_replies_per_minute=WITHOUT_BOUND)
    made = []
    for _ in range(count):
        chatbot = ChatbotFactory(account=AccountFactory(plan=plan))
        rows = ThreadFactory.create_batch(threads, chatbot=chatbot)
        paths = tuple(f"/v1/chatting/{chatbot.pk}/thread/{row.pk}" for row in rows)
        made.append(Chats(api_key.issue(chatbot.account.owner)[1], chatbot, paths))
    return made
