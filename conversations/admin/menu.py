"""Build the admin's menu, with counts of the work that is waiting for staff.

Each count is capped, limited to the rows that the user may see, and read from an index.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from accounts.admin.scope import once, person, scoped_rows
from config.durations import ONE_DAY
from conversations.admin.inbox import waiting
from conversations.admin.inbox_views import CAP, LAST
from conversations.models import Thread
from webhooks.admin.delivery_page import visible_ids
from webhooks.models import Delivery
from webhooks.models.delivery import State


@dataclass(frozen=True)
class Entry:
    """A menu entry, hidden from users who cannot view its model."""

    title: str
    icon: str
    model: str
    query: str = ""
    badge: str = ""

    def item(self) -> dict[str, Any]:
        """Return the entry in the format that the admin's menu expects."""
        link = reverse(f"admin:{self.model.replace('.', '_')}_changelist") + self.query
        item = {"title": self.title, "icon": self.icon, "link": link}
        return item | ({"badge": self.badge, "badge_variant": "danger"} if self.badge else {})


MENU = {
    "Work": (
        Entry(
            "Inbox",
            "inbox",
            "conversations.thread",
            f"?view={LAST}",
            f"{__name__}.waiting_badge",
        ),
        Entry("Canned replies", "chat", "conversations.cannedreply"),
        Entry("Leads", "contact_mail", "conversations.lead"),
        Entry("Deliveries", "send", "webhooks.delivery", badge=f"{__name__}.failed_badge"),
    ),
    "Bots": (
        Entry("Chatbots", "smart_toy", "chatbots.chatbot"),
        Entry("Models", "neurology", "chatbots.llmmodel"),
    ),
    "Accounts": (
        Entry("Accounts", "apartment", "accounts.account"),
        Entry("People", "person", "accounts.user"),
        Entry("API keys", "key", "accounts.apikey"),
        Entry("Plans", "sell", "accounts.plan"),
    ),
    "Audit log": (
        Entry("Changes", "history", "accounts.change"),
        Entry("Background jobs", "schedule", "config.periodicwork"),
    ),
}


def exposure(request: HttpRequest) -> list[str] | None:
    """Return a banner if sending is off or a demo is open to the network, otherwise None."""
    words = {"Sending is off": not settings.SENDING, "Demo, open to the network": settings.EXPOSED}
    shown = [text for text, applies in words.items() if applies]
    return ["; ".join(shown), "danger"] if shown else None


def served(name: str) -> Callable[[HttpRequest], str]:
    """Return a function that returns a static file's URL, as the admin's theme requires."""
    return lambda request: static(f"pages/{name}")


favicon, stylesheet = served("favicon.svg"), served("admin.css")
times_script = served("times.js")  # shows times in the browser's time zone
keyboard_script = served("keyboard.js")  # makes every control reachable with Tab
forms_script = served("forms.js")  # preserves the input of forms that could not be saved


def may_view(request: HttpRequest, model: str) -> bool:
    """Return whether the user may open a model's list."""
    app, name = model.split(".")
    return person(request).has_perm(f"{app}.view_{name}")


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Build the menu from the lists that the user may open."""
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = []
    for title, entries in MENU.items():
        items = [home] if title == "Work" else []
        items += [entry.item() for entry in entries if may_view(request, entry.model)]
        groups.append({"title": title, "items": items})
    return [group for group in groups if group["items"]]


def rows(request: HttpRequest, model: type[Model]) -> "QuerySet[Any]":
    """Select the rows of a model that the user may see, without ordering them."""
    return scoped_rows(admin.site, model, request).order_by()


def capped(queryset: "QuerySet[Any]", cap: int = CAP) -> int:
    """Count rows up to the cap."""
    return queryset.values("pk")[:cap].count()


def figure(count: int, cap: int = CAP) -> str:
    """Format a capped count."""
    return f"{cap - 1:,}+" if count >= cap else f"{count:,}"


def waiting_count(request: HttpRequest) -> int:
    """Count the threads that are waiting for a person. The count is cached for the request."""
    return once(request, "waiting_count", lambda: capped(waiting(rows(request, Thread))))


def failed_count(request: HttpRequest) -> int:
    """Count the failed deliveries of the last 24 hours, excluding tests.

    The count is cached for the request.
    """

    def count() -> int:
        since = timezone.now() - ONE_DAY
        failed = rows(request, Delivery).filter(
            state=State.FAILED, is_test=False, created_at__gte=since
        )
        if not person(request).is_superuser:
            failed = failed.filter(failed_of__in=visible_ids(request))  # uses failed_of's index
        return capped(failed)

    return once(request, "failed_count", count)


def waiting_badge(request: HttpRequest) -> str:
    """Return the number of waiting threads, as shown in the menu, or "" if there are none."""
    return figure(waiting_count(request)) if waiting_count(request) else ""


def failed_badge(request: HttpRequest) -> str:
    """Return the number of failed deliveries, as shown in the menu, or "" if there are none."""
    return figure(failed_count(request)) if failed_count(request) else ""
