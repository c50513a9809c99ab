"""The inbox's filters, which also apply when the page polls for changes.

To bound the cost, the tag filter keeps only the newest NEWEST_KEPT threads that match, and the lead
filter keeps only the threads of the newest NEWEST_KEPT leads.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.admin import SimpleListFilter
from django.db.models import Q
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter, RadioFilter, TextFilter
from unfold.contrib.filters.forms import HorizontalRadioForm

from accounts.admin.scope import person
from accounts.models import User
from chatbots.admin.scope import AccountFilter, ChatbotFilter, chatbots_of, open_chatbots
from chatbots.models import Chatbot
from config.admin.choices import OFFERED
from config.admin.keyset import whole_id
from config.database.collected import Collected
from conversations.models import Lead
from conversations.models.thread import DISLIKED, FALLBACK, ThreadQuerySet
from conversations.services import search
from conversations.services.search import NEWEST_KEPT

Keep = Callable[[HttpRequest, ThreadQuerySet, str], ThreadQuerySet]
FLAGS = ("escalated", "important", "resolved", "archived")


def scope(request: HttpRequest) -> list[UUID] | None:
    """Return the ids of the chatbots that the user may see, or None if the user may see all."""
    return None if person(request).is_superuser else open_chatbots(request)


def of_chatbot(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
    """Select the threads of a chatbot."""
    wanted = whole_id(value)
    return rows.filter(chatbot=wanted) if wanted else rows.none()


def of_account(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
    """Select the threads of an account's chatbots."""
    wanted = whole_id(value)
    return rows.filter(chatbot__in=chatbots_of(wanted)) if wanted else rows.none()


def with_tag(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
    """Select the newest threads whose tags contain the words. The last word may be incomplete."""
    return search.tagged(rows, value, scope(request))


def with_lead(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
    """Select the threads of the newest leads."""
    if value != "1":
        return rows.none()
    leads, chatbots = Lead.objects.order_by("-id"), scope(request)
    if chatbots is not None:
        leads = leads.filter(chatbot__in=chatbots)
    return rows.filter(pk__in=Collected(leads.values("thread_id")[:NEWEST_KEPT]))


def from_platform(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
    """Select threads from a platform. The second condition lets the query use a partial index."""
    return rows.filter(platform_source=value, platform_source__gt="")


def agents(request: HttpRequest, chatbots: Iterable[UUID] | None) -> list[User]:
    """Return the people to whom threads of the chatbots can be assigned, in order of name.

    The signed-in person comes first. `chatbots` are the ids of the chatbots, or None for all.
    """
    me = person(request)
    if chatbots is None:
        found = User.objects.filter(is_active=True)
    else:
        found = Chatbot.objects.filter(pk__in=chatbots).agents()
    return [me, *found.exclude(pk=me.pk).order_by("name", "email")[:OFFERED]]


def of_assignee(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
    """Select the threads that are assigned to a person, "me" or "nobody"."""
    if value == "nobody":
        return rows.filter(assignee=None)
    wanted = person(request).pk if value == "me" else whole_id(value)
    return rows.filter(assignee=wanted) if wanted else rows.none()


def meeting(condition: Q) -> Keep:
    """Return a function that selects the threads that meet a condition. Its only value is "1"."""

    def keep(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
        return rows.filter(condition) if value == "1" else rows.none()

    return keep


def flagged(name: str) -> Keep:
    """Return a function that selects the threads with a flag ("1") or without it ("0")."""

    def keep(request: HttpRequest, rows: ThreadQuerySet, value: str) -> ThreadQuerySet:
        return rows.filter(**{name: value == "1"}) if value in ("0", "1") else rows.none()

    return keep


KEPT: dict[str, Keep] = {
    str(AccountFilter.parameter_name): of_account,
    ChatbotFilter.parameter_name: of_chatbot,
    "assignee": of_assignee,
    "tag": with_tag,
    "lead": with_lead,
    "disliked": meeting(DISLIKED),
    "fallback": meeting(FALLBACK),
    "platform": from_platform,
    **{name: flagged(name) for name in FLAGS},
}
BOUNDED = {"tag", "lead"}


def applied(request: HttpRequest, rows: ThreadQuerySet) -> ThreadQuerySet:
    """Apply the filters in a request's query string."""
    for name, keep in KEPT.items():
        if value := request.GET.get(name):
            rows = keep(request, rows, value)
    return rows


class Kept(SimpleListFilter):
    """Base class of the filters below, which apply the functions in KEPT."""

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Select the threads that match."""
        value = self.value()
        return KEPT[str(self.parameter_name)](request, queryset, value) if value else queryset


class TagFilter(Kept, TextFilter):
    """Filters by the words in a tag."""

    title = parameter_name = "tag"


class PlatformFilter(Kept, TextFilter):
    """Filters by the exact platform source."""

    title = parameter_name = "platform"


class AssigneeFilter(Kept, DropdownFilter):
    """Filters by the person that threads are assigned to."""

    title = "assigned to"
    parameter_name = "assignee"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the user, nobody and the user's colleagues."""
        _, *others = agents(request, scope(request))
        named = [(str(one.pk), one.get_full_name()) for one in others]
        return [("me", "me"), ("nobody", "nobody"), *named]


class OnlyFilter(Kept, DropdownFilter):
    """Base class of the filters that have one choice."""

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the only choice."""
        return [("1", "yes")]


class LeadFilter(OnlyFilter):
    """Filters for threads that have a lead."""

    title = parameter_name = "lead"


class DislikedFilter(OnlyFilter):
    """Filters for threads with a thumbs-down."""

    title, parameter_name = "thumbs-down", "disliked"


class FallbackFilter(OnlyFilter):
    """Filters for threads in which the bot could not answer."""

    title, parameter_name = "fallback reply", "fallback"


class FlagFilter(Kept, RadioFilter):
    """Filters by whether a flag is set."""

    form_class: ClassVar[Any] = HorizontalRadioForm

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer yes and no."""
        return [("1", "Yes"), ("0", "No")]


FLAG_FILTERS = tuple(
    type(f"{name.capitalize()}Filter", (FlagFilter,), {"title": name, "parameter_name": name})
    for name in FLAGS
)
