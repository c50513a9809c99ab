"""Measure how read costs grow with the number of messages, threads, bots and other tenants."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

from accounts.models import Account, Plan, User
from accounts.services import api_key
from chatbots.models import Chatbot, ChatbotMember
from conversations.models import Message, Thread, ThreadCount
from tests.conftest import Api
from tests.contract.operations import OPERATIONS, ids_of
from tests.factories import bulk
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.servers.processes import Web
from tests.statements import counted
from tests.tools.bench import wire
from tests.tools.bench.api import quiet
from tests.tools.bench.load import percentile
from tests.tools.bench.servers import service

MESSAGES, THREADS, BOTS, FOREIGN = 1_000_000, 100_000, 10_000, 100_000
FEW = 1_000
ASKED = 300  # how many times each request is measured
PAGE = 20


@dataclass(frozen=True)
class Asked:
    """A request, and the web server that it is sent to."""

    web: Web
    request: bytes


@contextmanager
def copy_of_database() -> Iterator[str]:
    """Copy this run's database. Yields the copy's name."""
    name = str(connection.settings_dict["NAME"])
    copied = f"{name}_small"
    connection.close()
    if connection.vendor == "sqlite":
        shutil.copy(name, copied)
        try:
            yield copied
        finally:
            Path(copied).unlink()
        return
    close_pool()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{copied}" TEMPLATE "{name}"')
    try:
        yield copied
    finally:
        close_pool()
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{copied}" WITH (FORCE)')


def close_pool() -> None:
    """Close all of this process's connections, because a database in use cannot be copied."""
    connection.close()
    getattr(connection, "close_pool", lambda: None)()


def interleaved(pairs: dict[str, tuple[Asked, Asked]], size: float) -> dict[str, Any]:
    """Send the two requests of each pair many times, in alternating order.

    Returns the p50s, the p99s and their ratios.
    """
    figures = {}
    opened = {
        each.web.port: wire.Connection(each.web.port, b"")
        for pair in pairs.values()
        for each in pair
    }
    for name, pair in pairs.items():
        took: tuple[list[float], list[float]] = ([], [])
        for number in range(round(ASKED * size) + 5):
            for side in (0, 1) if number % 2 else (1, 0):
                connection = opened[pair[side].web.port]
                seconds, _ = wire.ask(connection, pair[side].request)
                if number >= 5:
                    took[side].append(seconds)
        figures[name] = ratios(*took)
        print(f"  {name:56} " + line(figures[name]), flush=True)  # noqa: T201
    for connection in opened.values():
        connection.socket.close()
    return figures


def ratios(many: list[float], few: list[float]) -> dict[str, float]:
    found = {
        f"{name}_{side}_s": percentile(took, share)
        for name, share in (("p50", 0.5), ("p99", 0.99))
        for side, took in (("many", many), ("few", few))
    }
    return found | {
        "p50_ratio": found["p50_many_s"] / found["p50_few_s"],
        "p99_ratio": found["p99_many_s"] / found["p99_few_s"],
    }


def line(found: dict[str, float]) -> str:
    return (
        f"p50 {1000 * found['p50_many_s']:.1f} : {1000 * found['p50_few_s']:.1f} ms ="
        f" {found['p50_ratio']:.2f}, p99 {1000 * found['p99_many_s']:.1f} :"
        f" {1000 * found['p99_few_s']:.1f} ms = {found['p99_ratio']:.2f}"
    )


def get(web: Web, path: str, key: str) -> Asked:
    return Asked(web, wire.request("GET", path, key))


def thread_with(chatbot: Chatbot, messages: int) -> Thread:
    """Create a thread with this many messages."""
    thread = ThreadFactory(chatbot=chatbot)
    first = MessageFactory(thread=thread, content="Where is my parcel?")
    bulk.copy(first, messages - 1, {"position": "s.n + 1", "updated_at": bulk.later()})
    Thread.objects.filter(pk=thread.pk).update(last_position=messages)
    return thread


def chatbot_with(account: Account, threads: int) -> Chatbot:
    """Create a chatbot with the given number of threads. Asserts that `ThreadCount` agrees."""
    chatbot = ChatbotFactory(account=account)
    bulk.copy(ThreadFactory(chatbot=chatbot), threads - 1, {"updated_at": bulk.later()})
    assert ThreadCount.objects.get(chatbot=chatbot.pk).threads == threads
    return chatbot


def before(thread: Thread, position: int) -> str:
    """Return the query string that requests the messages before a position."""
    return f"?before={Message.objects.get(thread=thread, position=position).pk}"


def add_foreign(count: int) -> None:
    """Create this many chatbots, threads and members in another account."""
    account = AccountFactory()
    chatbot = chatbot_with(account, count)
    bulk.copy(chatbot, count, {"name": "'foreign ' || s.n"})
    user: User = UserFactory(email="foreign@example.com")
    emails = {"email": "'foreign-' || s.n || '@example.com'"}
    bulk.copy(user, count, emails)
    users = "(SELECT id AS user_id FROM accounts_user WHERE email LIKE 'foreign-%%')"
    member = MembershipFactory(account=account, user=user)
    bulk.copy(member, count, {"user_id": "s.user_id"}, source=users)
    added: ChatbotMember = ChatbotMemberFactory(chatbot=chatbot, user=user)
    bulk.copy(added, count, {"user_id": "s.user_id"}, source=users)


def long_lists(web: Web, account: Account, size: float) -> dict[str, tuple[Asked, Asked]]:
    """Create long and short lists. Returns pairs of requests, each with the long list first."""
    many, few = round(MESSAGES * size), max(60, round(FEW * size))
    key = api_key.issue(account.owner)[1]
    chatbot = chatbot_with(account, round(THREADS * size))
    other = chatbot_with(account, few)
    long, short = thread_with(chatbot, many), thread_with(chatbot, few)
    history = f"/v1/chatting/{chatbot.pk}/thread/{{}}/messages".format
    deep = before(long, max(many // 2, many - 1_000 * PAGE))
    half = before(short, few // 2)
    first = get(web, f"/v1/chatting/{other.pk}/threads", key)
    last = round(THREADS * size) // PAGE
    return {
        f"history, {many:,} : {few:,} messages, first page": (
            get(web, history(long.pk), key),
            get(web, history(short.pk), key),
        ),
        f"history, {many:,} : {few:,} messages, deep": (
            get(web, history(long.pk) + deep, key),
            get(web, history(short.pk) + half, key),
        ),
        f"threads, {round(THREADS * size):,} : {few:,}, page 1": (
            get(web, f"/v1/chatting/{chatbot.pk}/threads", key),
            first,
        ),
    } | {
        f"threads, {round(THREADS * size):,} : {few:,}, page {number:,} : 1": (
            get(web, f"/v1/chatting/{chatbot.pk}/threads?page={number}", key),
            first,
        )
        for number in (last // 2, last)
    }


def many_bots(web: Web, size: float) -> dict[str, float]:
    """Measure my-chatbots for an account with many bots (ten thousand at full size).

    Asserts that the response counts all the bots.
    """
    count = round(BOTS * size)
    chatbot = ChatbotFactory()
    bulk.copy(chatbot, count - 1, {"name": "'bot ' || s.n"})
    key = api_key.issue(chatbot.account.owner)[1]
    connection = wire.Connection(web.port, b"")
    asked = wire.request("GET", "/v1/chatbots/my-chatbots", key)
    took = [wire.ask(connection, asked)[0] for _ in range(12)][2:]
    connection.socket.close()
    with quiet(), counted() as statements:
        assert Api(key).get("/v1/chatbots/my-chatbots").json()["data"]["totalCount"] == count
    found = {"bots": count, "statements": len(statements), "p50_s": percentile(took, 0.5)}
    print(f"  my-chatbots: {found}", flush=True)  # noqa: T201
    return found


def reads_of(chatbot: Chatbot, ids: dict[str, str]) -> dict[str, bytes]:
    """Return a request for each GET operation, keyed by the operation's name."""
    key = api_key.issue(chatbot.account.owner)[1]
    return {
        str(each): wire.request("GET", each.path.format(**ids), key)
        for each in OPERATIONS
        if each.method == "GET"
    }


def measure(size: float) -> dict[str, Any]:
    """Measure the same reads with a lot of data and with little data. Returns all figures."""
    Plan.objects.update(messages_per_minute=999_999_999)
    chatbot = ChatbotFactory()
    requests = reads_of(chatbot, ids_of(chatbot))
    with ExitStack() as stack:
        copied = stack.enter_context(copy_of_database())
        add_foreign(round(FOREIGN * size))
        bulk.settle()
        big = stack.enter_context(service())
        small = stack.enter_context(service(TEST_DATABASE_NAME=copied))
        foreign = {
            f"{name}, {round(FOREIGN * size):,} rows of other tenants : 0": (
                Asked(big, request),
                Asked(small, request),
            )
            for name, request in requests.items()
        }
        figures = {"other_tenants": interleaved(foreign, size)}
        pairs = long_lists(big, AccountFactory(), size)
        bulk.settle()
        figures["long_lists"] = interleaved(pairs, size)
        figures["many_bots"] = many_bots(big, size)
    return figures
