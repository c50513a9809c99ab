"""The Ctrl+K search, which finds menu entries and the user's chatbots, threads and deliveries."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from unfold.dataclasses import SearchResult

from chatbots.models import Chatbot
from config.admin.keyset import whole_id
from conversations.admin.inbox_filters import scope
from conversations.admin.inbox_views import LATEST
from conversations.admin.menu import may_view, navigation, rows
from conversations.models import Thread
from conversations.services import search
from webhooks.models import Delivery
from webhooks.services.selection import with_id

MOST = 5  # maximum number of results of each kind


def find(request: HttpRequest, text: str) -> list[SearchResult]:
    """Find pages by words in a name, an email address or a menu entry, or by a complete id."""
    wanted = whole_id(text)
    found = list(entries(request, text))
    if may_view(request, "chatbots.chatbot"):
        found += chatbots(request, text, wanted)
    if may_view(request, "conversations.thread"):
        found += threads(request, text, wanted)
    if wanted and may_view(request, "webhooks.delivery"):
        found += deliveries(request, wanted)
    return found


def entries(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    """Find the entries of the user's menu in which a word begins with the text."""
    begun = text.lower()
    for group in navigation(request):
        for item in group["items"]:
            if f" {begun}" in f" {item['title'].lower()}":
                yield SearchResult(item["title"], group["title"], item["link"], item["icon"])


def chatbots(request: HttpRequest, text: str, wanted: UUID | None) -> Iterator[SearchResult]:
    """Find the chatbots whose name begins with the text, or one chatbot by its id."""
    named = {"pk": wanted} if wanted else {"name__istartswith": text}
    for bot in rows(request, Chatbot).filter(**named).order_by("name", "id")[:MOST]:
        yield result(bot, str(bot), f"Chatbot of {bot.account}", "smart_toy")


def threads(request: HttpRequest, text: str, wanted: UUID | None) -> Iterator[SearchResult]:
    """Find the latest threads by the visitor's name or email address, or one thread by its id."""
    mine: Any = rows(request, Thread)
    if wanted:
        found = latest(mine.filter(pk=wanted))
    else:
        bots = scope(request)
        found = latest(search.named(mine, text, bots)) or latest(
            search.with_initial(mine, text, bots)
        )
    for thread in found:
        yield result(thread, str(thread.visitor), f"Conversation, {thread.chatbot}", "inbox")


def latest(found: "QuerySet[Thread]") -> list[Thread]:
    """Read the latest of the given threads."""
    return list(found.select_related("visitor", "chatbot").order_by(*LATEST)[:MOST])


def deliveries(request: HttpRequest, wanted: UUID) -> Iterator[SearchResult]:
    """Find the newest deliveries by their own id, their thread's id or their message's id."""
    found = with_id(rows(request, Delivery), wanted).defer("body").select_related("chatbot")
    for delivery in found.order_by("-created_at", "-id")[:MOST]:
        said = f"Delivery, {delivery.chatbot}, {delivery.created_at:%Y-%m-%d %H:%M:%S} UTC"
        yield result(delivery, f"{delivery.event} {delivery.state}", said, "send")


def result(row: Model, title: str, description: str, icon: str) -> SearchResult:
    """Build the result that links to a row's page."""
    name = row._meta.label_lower.replace(".", "_")
    return SearchResult(title, description, reverse(f"admin:{name}_change", args=[row.pk]), icon)
