"""The admin's home page, which shows problems and recent activity."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, IntegerField, OuterRef, Subquery, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from accounts.admin.scope import once, person
from accounts.models import Account, Usage
from accounts.quotas import WARNED_AT, month_of
from chatbots.admin.scope import open_chatbots
from chatbots.models import Chatbot, LlmModel
from config.admin.dates import range_query, zone_of
from config.durations import in_words
from conversations.admin.choice import Choice, chosen
from conversations.admin.figures import DELIVERIES, MESSAGES, Chart, Figures, read
from conversations.admin.inbox import waiting
from conversations.admin.inbox_views import CAP
from conversations.admin.menu import capped, figure, may_view, rows
from conversations.models import Thread, TokenUsage
from conversations.models.thread import DISLIKED
from conversations.services import handoffs
from webhooks.models import Delivery, Endpoint
from webhooks.models.delivery import Lane

LISTED = 10  # maximum number of rows in a table


class CountOf(Subquery):
    """Counts the rows of a subquery, which may have a limit."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()
    empty_result_set_value = 0  # used if Django knows that no row can match


@dataclass(frozen=True)
class Card:
    """A figure that links to a list of related rows."""

    label: str
    figure: str
    link: str
    note: str = ""
    wrong: bool = False


def cards(request: HttpRequest, choice: Choice, figures: Figures) -> list[Card]:
    """Build the cards for the lists that the user may open."""
    made, total, chosen_rows = [], figures.total, choice.query
    if may_view(request, "conversations.thread"):
        inbox = reverse("admin:conversations_thread_changelist")
        waits, longest = waiting_visitors(request, choice)
        escalated = f"{inbox}?view=open&escalated=1{chosen_rows}"
        span = f"{range_query('updated_at', figures.since, zone_of(request))}{chosen_rows}"
        latest, bad = f"{inbox}?view=open&{span}", f"{inbox}?view=bad&{span}"
        disliked = disliked_count(request, choice, figures.since)
        made += [
            Card(
                "waiting for a person",
                figure(waits),
                f"{inbox}?view=waiting{chosen_rows}",
                longest,
                waits > 0,
            ),
            Card("messages", f"{total['messages']:,}", latest),
            Card("AI replies", f"{total['ai_replies']:,}", latest),
            Card(
                "fallback replies",
                f"{total['fallbacks']:,}",
                f"{bad}&fallback=1",
                share(figures),
            ),
            Card("conversations with a thumbs-down", figure(disliked), f"{bad}&disliked=1"),
            Card("escalations", f"{total['escalations']:,}", escalated, figures.answer_time),
        ]
    if may_view(request, "conversations.lead"):
        leads = reverse("admin:conversations_lead_changelist")
        link = f"{leads}?since={choice.span.name}{chosen_rows}"
        made.append(Card("leads", f"{total['leads']:,}", link))
    if may_view(request, "webhooks.delivery"):
        span = f"{range_query('created_at', figures.since, zone_of(request))}{chosen_rows}"
        log = f"{reverse('admin:webhooks_delivery_changelist')}?is_test__exact=0&{span}"
        ended = total["success"] + total["failed"]
        made.append(
            Card(
                "deliveries failed",
                f"{total['failed']:,}",
                f"{log}&state__exact=FAILED",
                f"of {ended:,} finished",
                total["failed"] > 0,
            )
        )
    return made


def waiting_visitors(request: HttpRequest, choice: Choice) -> tuple[int, str]:
    """Return how many visitors are waiting for an agent, up to CAP, and the longest wait.

    If no account or chatbot is chosen, the menu reuses this count instead of counting again.
    """
    found = waiting(rows(request, Thread)).order_by("waiting_since", "id")
    if choice.narrowed:
        found = found.filter(chatbot__in=choice.chatbots or [])
    times: list[Any] = list(found.values_list("waiting_since", flat=True)[:CAP])
    if not choice.narrowed:
        once(request, "waiting_count", lambda: len(times))
    if not times:
        return 0, ""
    return len(times), f"longest {in_words(timezone.now() - times[0])}"


def disliked_count(request: HttpRequest, choice: Choice, since: datetime) -> int:
    """Count the conversations that have a thumbs-down and were active in the span, up to CAP."""
    found = rows(request, Thread).filter(DISLIKED, updated_at__gte=since)
    return capped(found.filter(chatbot__in=choice.chatbots or []) if choice.narrowed else found)


def share(figures: Figures) -> str:
    """Format the share of fallbacks, or return "" if there are no AI replies."""
    return f"{figures.fallback_share}% fallback" if figures.total["ai_replies"] else ""


@dataclass(frozen=True)
class Failing:
    """A failing endpoint, the number of deliveries that are waiting for it, and its last error."""

    endpoint: Endpoint
    waiting: str
    last_error: str


def failing_endpoints(request: HttpRequest) -> list[Failing]:
    """Find the active endpoints that have been failing the longest. Runs at most two queries."""
    failing = rows(request, Endpoint).filter(failing_since__isnull=False, is_active=True)
    queued = Delivery.objects.filter(waiting_of=OuterRef("chatbot"), lane__lt=Lane.MANUAL)
    again = queued.filter(lane=Lane.RETRY).order_by("starts_at", "position")
    failed = Delivery.objects.filter(failed_of=OuterRef("chatbot"))
    found = list(
        failing.select_related("chatbot")
        .annotate(
            queued=CountOf(queued.order_by().values("pk")[:CAP]),
            retried=Subquery(again.values("pk")[:1]),
            ended=Subquery(failed.order_by("-created_at", "-id").values("pk")[:1]),
        )
        .order_by("failing_since")[:LISTED]
    )
    keys = {key for row in found for key in (row.retried, row.ended) if key}
    deliveries = Delivery.objects.defer("body").in_bulk(keys)
    return [
        Failing(row, figure(row.queued), error_of(deliveries, row.retried, row.ended))
        for row in found
    ]


def error_of(deliveries: dict[UUID, Delivery], *keys: UUID | None) -> str:
    """Describe the last error of the first delivery that still exists, in the order of `keys`."""
    for key in keys:
        if key in deliveries:
            delivery = deliveries[key]
            return delivery.last_error or f"status {delivery.last_code}"
    return "unknown: the delivery has been deleted"


@dataclass(frozen=True)
class Quota:
    """An account's use of its monthly quota."""

    account: Account
    plan: str
    used: int
    most: int | None
    resets_on: date

    @property
    def percent(self) -> int:
        """Return the percentage of the quota that is used, at most 100."""
        if self.most is None:
            return 0
        return min(100, self.used * 100 // self.most) if self.most else 100

    @property
    def state(self) -> tuple[str, str]:
        """Return a CSS class and a label that describe the use of the quota."""
        if self.most is None:
            return "", "unlimited"
        if self.percent >= 100:
            return "bad", "used up: visitors get no answer"
        if self.percent >= WARNED_AT[-1]:
            return "busy", f"{self.percent}% used"
        return "good", f"{self.percent}% used"


def quotas_of_accounts(request: HttpRequest, choice: Choice) -> list[Quota]:
    """Read the accounts' usage for this month, most messages first."""
    month, resets_at = month_of(timezone.now())
    used = rows(request, Usage).filter(month=month).select_related("account__plan")
    if choice.account.text:
        used = used.filter(account=choice.account.id)
    return [
        Quota(
            account=row.account,
            plan=row.account.plan.name,
            used=row.messages,
            most=row.account.plan.monthly_messages,
            resets_on=resets_at.date(),
        )
        for row in used.order_by("-messages")[:LISTED]
    ]


def tokens(choice: Choice, since: date) -> list[dict[str, Any]]:
    """Add up tokens by account id and model id. The largest sum of input tokens comes first."""
    used: Any = TokenUsage.objects.filter(day__gte=since)
    if choice.chatbots is not None:
        used = used.filter(chatbot__in=choice.chatbots)
    model = LlmModel.objects.filter(pk=OuterRef("model_id")).values("title")
    sums = {f"{name}_sum": Sum(name) for name in ("replies", "input_tokens", "output_tokens")}
    found = (
        used.order_by()
        .values(
            "model_id",
            account=F("chatbot__account__name"),
            account_id=F("chatbot__account"),
            model=Subquery(model),
        )
        .annotate(**sums)
        .order_by("-input_tokens_sum")
    )
    return list(found[:LISTED])


@dataclass(frozen=True)
class Requests:
    """Requests for a human agent and their outcomes, formatted for display."""

    asked: str
    answered: str
    first_answer: str  # the mean time until an agent answered, or "" if no agent did
    resolved: str
    came_back: str


def requests_for_a_person(choice: Choice, since: datetime) -> Requests:
    """Count the visitors' requests for a human agent. Runs one query."""
    found = handoffs.outcomes(since, choice.chatbots)
    first = found.first_answer
    return Requests(
        asked=figure(found.asked, handoffs.COUNTED),
        answered=f"{found.answered:,}",
        first_answer=in_words(first) if first is not None else "",
        resolved=f"{found.resolved:,}",
        came_back=f"{found.came_back:,}",
    )


def no_model(request: HttpRequest) -> bool:
    """Return whether no active model is marked as the default."""
    return not LlmModel.objects.filter(is_default=True, is_active=True).exists()


def home(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the home page's figures, charts and tables to its context."""
    user, choice = person(request), chosen(request)
    figures = read(choice.span, timezone.now().astimezone(UTC), choice.chatbots)
    charts, threads = [], may_view(request, "conversations.thread")
    if threads:
        charts.append(Chart("Messages and AI replies", figures, MESSAGES))
    if may_view(request, "webhooks.delivery"):
        charts.append(Chart("Deliveries by state", figures, DELIVERIES, stacked=True))
    usage = may_view(request, "accounts.usage")
    return context | {
        "title": "Home",
        "nothing": not (Chatbot.objects.exists() if user.is_superuser else open_chatbots(request)),
        "held": not settings.SENDING,
        "no_model": no_model(request),
        "choice": choice,
        "figures": figures,
        "cards": cards(request, choice, figures),
        "charts": charts,
        "failing": failing_endpoints(request) if may_view(request, "webhooks.endpoint") else None,
        "quotas": quotas_of_accounts(request, choice) if usage else None,
        "requests": requests_for_a_person(choice, figures.since) if threads else None,
        "tokens": tokens(choice, figures.since.date()) if charts else None,
    }
