"""The admin's home page and menu: is anything wrong, and how much is going on?

Each figure is capped, limited to the rows that the user may see, and read from an index.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from accounts.admin.scope import once, person, scoped_rows
from accounts.models import Usage
from chatbots.admin.scope import open_chatbots
from conversations.admin.inbox import waiting
from conversations.models import Message, Thread
from webhooks.models import Delivery, Endpoint
from webhooks.models.delivery import State

CAP = 100  # from here on a figure shows "99+"
DAY = timedelta(hours=24)
LISTED = 10  # rows of a table


@dataclass(frozen=True)
class Card:
    """A figure that links to the list it counts."""

    label: str
    figure: str
    link: str
    wrong: bool = False


@dataclass(frozen=True)
class Entry:
    """A line of the menu, hidden from users who may not view its model."""

    title: str
    icon: str
    model: str
    query: str = ""
    badge: str = ""

    def item(self) -> dict[str, Any]:
        """Return the entry in the format of the admin's menu."""
        link = reverse(f"admin:{self.model.replace('.', '_')}_changelist") + self.query
        item = {"title": self.title, "icon": self.icon, "link": link}
        return item | ({"badge": self.badge, "badge_variant": "danger"} if self.badge else {})


MENU = {
    "Work": (
        Entry(
            "Inbox",
            "inbox",
            "conversations.thread",
            "?view=waiting",
            f"{__name__}.waiting_badge",
        ),
        Entry("Leads", "contact_mail", "conversations.lead"),
        Entry("Visitors", "group", "conversations.visitor"),
        Entry("Deliveries", "send", "webhooks.delivery", badge=f"{__name__}.failed_badge"),
    ),
    "Bots": (
        Entry("Chatbots", "smart_toy", "chatbots.chatbot"),
        Entry("Webhooks", "webhook", "webhooks.endpoint"),
        Entry("Models", "neurology", "chatbots.llmmodel"),
    ),
    "Accounts": (
        Entry("Accounts", "apartment", "accounts.account"),
        Entry("People", "person", "accounts.user"),
        Entry("API keys", "key", "accounts.apikey"),
        Entry("Plans", "sell", "accounts.plan"),
        Entry("Usage", "monitoring", "accounts.usage"),
        Entry("Mails", "mail", "accounts.mail"),
    ),
}


def favicon(request: HttpRequest) -> str:
    """Return the URL of the browser tab's icon."""
    return static("pages/favicon.svg")


def exposure(request: HttpRequest) -> list[str] | None:
    """Return the banner of every page: sending is off, or a demo is open to the network."""
    words = {"Sending is off": not settings.SENDING, "Demo, open to the network": settings.EXPOSED}
    shown = [text for text, applies in words.items() if applies]
    return ["; ".join(shown), "danger"] if shown else None


def stylesheet(request: HttpRequest) -> str:
    """Return the URL of the stylesheet for our own pages."""
    return static("pages/admin.css")


def times_script(request: HttpRequest) -> str:
    """Return the URL of the script that shows times in the browser's time zone."""
    return static("pages/times.js")


def keyboard_script(request: HttpRequest) -> str:
    """Return the URL of the script that makes every control reachable with Tab."""
    return static("pages/keyboard.js")


def may_view(request: HttpRequest, model: str) -> bool:
    """Return whether the user may open a model's list."""
    app, name = model.split(".")
    return person(request).has_perm(f"{app}.view_{name}")


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Make the menu from the lists that the user may open."""
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    groups = [
        {"title": title, "items": [e.item() for e in entries if may_view(request, e.model)]}
        for title, entries in MENU.items()
    ]
    return [{"items": [home]}, *(group for group in groups if group["items"])]


def rows(request: HttpRequest, model: type[Model]) -> "QuerySet[Any]":
    """Select the rows of a model that the user may see, in no order."""
    return scoped_rows(admin.site, model, request).order_by()


def capped(queryset: "QuerySet[Any]", cap: int = CAP) -> int:
    """Count rows up to the cap."""
    return queryset.values("pk")[:cap].count()


def figure(count: int, cap: int = CAP) -> str:
    """Format a capped count."""
    return f"{cap - 1:,}+" if count >= cap else f"{count:,}"


def waiting_count(request: HttpRequest) -> int:
    """Count the threads that wait for a person, once per request."""
    return once(request, "waiting_count", lambda: capped(waiting(rows(request, Thread))))


def failed_count(request: HttpRequest) -> int:
    """Count the failed deliveries of the last 24 hours, without test deliveries."""
    since = timezone.now() - DAY
    failed = rows(request, Delivery).filter(
        state=State.FAILED, is_test=False, created_at__gte=since
    )
    return once(request, "failed_count", lambda: capped(failed))


def waiting_badge(request: HttpRequest) -> str:
    """Return the number of waiting threads for the menu; empty if there are none."""
    return figure(waiting_count(request)) if waiting_count(request) else ""


def failed_badge(request: HttpRequest) -> str:
    """Return the number of failed deliveries for the menu; empty if there are none."""
    return figure(failed_count(request)) if failed_count(request) else ""


def first_id_of(moment: datetime) -> UUID:
    """Return the smallest id of rows created at a moment: ids begin with their time."""
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62)


def recent_messages(request: HttpRequest) -> "QuerySet[Message]":
    """Select the messages of the last 24 hours that the user may see.

    A superuser's query reads one range of the id index. For other users it goes through the
    threads of their chatbots that were active since.
    """
    since = timezone.now() - DAY
    if person(request).is_superuser:
        return Message.objects.filter(pk__gte=first_id_of(since))
    return Message.objects.filter(
        thread__chatbot__in=open_chatbots(request),
        thread__updated_at__gte=since,
        created_at__gte=since,
    )


def cards(request: HttpRequest) -> list[Card]:
    """Make the figures for the lists that the user may open."""
    made = []
    if may_view(request, "conversations.thread"):
        inbox = reverse("admin:conversations_thread_changelist")
        waits = waiting_count(request)
        many = CAP * 10
        made += [
            Card("waiting for a person", figure(waits), f"{inbox}?view=waiting", waits > 0),
            Card(
                "messages in 24 h",
                figure(capped(recent_messages(request), many), many),
                f"{inbox}?view=all",
            ),
        ]
    if may_view(request, "webhooks.delivery"):
        failed = failed_count(request)
        since = timezone.now().astimezone(UTC) - DAY
        span = f"created_at_from_0={since:%Y-%m-%d}&created_at_from_1={since:%H:%M:%S}"
        failures = f"state__exact=FAILED&is_test__exact=0&{span}"
        log = f"{reverse('admin:webhooks_delivery_changelist')}?{failures}"
        made.append(Card("deliveries failed in 24 h", figure(failed), log, failed > 0))
    return made


def failing_endpoints(request: HttpRequest) -> "QuerySet[Any]":
    """Find the active endpoints that are failing, the longest first."""
    failing = rows(request, Endpoint).filter(failing_since__isnull=False, is_active=True)
    return failing.select_related("chatbot").order_by("failing_since")[:LISTED]


def month_of_accounts(request: HttpRequest) -> "QuerySet[Any]":
    """Find the accounts' usage of this month, the most messages first."""
    month = timezone.now().astimezone(UTC).date().replace(day=1)
    used = rows(request, Usage).filter(month=month).select_related("account__plan")
    return used.order_by("-messages")[:LISTED]


def home(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the home page's figures and tables to its context."""
    user = person(request)
    nothing = not user.is_superuser and not open_chatbots(request)
    return context | {
        "title": "Home",
        "nothing": nothing,
        "held": not settings.SENDING,
        "cards": cards(request),
        "failing": failing_endpoints(request) if may_view(request, "webhooks.endpoint") else None,
        "usage": month_of_accounts(request) if may_view(request, "accounts.usage") else None,
    }
