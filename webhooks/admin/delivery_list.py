"""The list of deliveries. The cost of each page is bounded, whatever filters are combined.

One index sorts all deliveries newest first. Other indexes sort the deliveries of each chatbot, each
state and each response class. If the matching rows are exactly one range of an index, a page reads
only the rows that it shows. Otherwise, a page reads a bounded number of rows in the order of an
index and keeps those that match. If too few rows match to fill the page, the page offers to look
further back.

To list the deliveries of several chatbots, a database would either sort all of their rows, or read
the rows of all accounts in order and skip most of them. To avoid both, the list first computes how
far back the page can reach. For each chatbot, it looks up the creation time of the delivery that
would be the last one on the page if the page listed only that chatbot. Deliveries older than the
latest of these times cannot be on the page.
"""

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.scope import person, scoped_rows
from chatbots.admin.scope import chatbots_of
from chatbots.models import Chatbot
from config.admin.dates import TimeRangeFilter
from config.admin.keyset import AFTER, KeysetChangeList, place_of, rows_after, whole_id
from config.admin.page import bounded
from config.database.collected import Collected
from config.durations import ONE_DAY
from config.outbound.failures import class_of
from webhooks.admin.delivery_counts import counts, shown
from webhooks.admin.delivery_page import visible_ids
from webhooks.models import Delivery, Endpoint
from webhooks.models.delivery import State
from webhooks.services.selection import CLASSES, SUCCEEDED, is_code

TABS = (State.FAILED, State.RETRYING, State.PENDING, State.SUCCESS)
# Maximum number of rows that the list examines for a page if no index matches the filters. With 77
# or more chatbots, it examines more, because it examines at least 26 rows for each chatbot.
LOOKED_AT = 2_000
SCOPES = {"chatbot", "account"}
FILTERS = {"event__exact", "state__exact", "is_test__exact", "code", "cause", *SCOPES}
NIL = UUID(int=0)  # sorts before every id
# If no deliveries match the filters, the list shows how many deliveries were created in the last
# day, up to this number
COUNTED = 10_000
# Maximum number of failures that "Failures by cause" examines, divided equally among the chatbots
FAILURES = 10_000
# Minimum number of failures examined for each chatbot. With more than ten chatbots, the total can
# therefore exceed FAILURES.
OF_ONE = 1_000


class DeliveryList(KeysetChangeList):
    """The deliveries that a user may see, newest first."""

    queryset: "QuerySet[Any]"
    # Rows created before this time were not examined, so the page may lack some that match. None if
    # the page is complete.
    reached: datetime | None = None
    made_filters: Any = None  # Any: the result of Django's `get_filters`

    def get_filters(self, request: HttpRequest) -> Any:
        """Create the filters only once per page, because some of them run queries."""
        self.made_filters = self.made_filters or super().get_filters(request)
        return self.made_filters

    def get_results(self, request: HttpRequest) -> None:
        """Read one page, and examine deliveries only as far back as the page can reach."""
        matching = self.queryset
        endpoints = scoped_rows(self.model_admin.admin_site, Endpoint, request)
        self.endpoints = endpoints.order_by()
        if not self.query:
            self.queryset = self.kept(request, given_filters(request))
        super().get_results(request)
        self.queryset = matching  # an export is not limited to what the page can reach
        self.counts: Counter[str] = Counter()
        if not self.query and set(self.params) <= {"state__exact"}:
            self.counts = counts(self.chatbots(request, {}))

    def completed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Annotate the rows with the database's current time, for the countdowns.

        Reading the time with the rows saves a query.
        """
        annotated: QuerySet[Any] = rows.annotate(read_at=Now())
        return annotated

    def tabs(self) -> list[tuple[str, str]]:
        """Return each tab's state and count. The count is "" if it is zero or was not read."""
        return [(state, shown(self.counts[state])) for state in TABS]

    def get_next(self, rows: list[Any], key: tuple[str, ...]) -> str | None:
        """Return the position of the next page, or None if there are no more deliveries.

        If the remaining deliveries were not examined, the next page is labeled "Look further back".
        """
        following = super().get_next(rows, key)
        if following is None and self.reached:
            self.next_label = "Look further back"
            return place_of([self.reached, NIL])
        self.reached = None
        return following

    @property
    def unmatched_text(self) -> str:
        """Return the text to show if no row matches the filters, or "" if the user has searched."""
        if self.query:
            return ""
        if self.reached:
            time = f"{self.reached:%Y-%m-%d %H:%M:%S} UTC"
            return f"No matches as far back as {time}."
        words = (bounded(self.last_day, cap=COUNTED) or "None").capitalize()
        return f"No deliveries match. {words} in the last 24 h without this filter."

    @property
    def last_day(self) -> "QuerySet[Any]":
        """Select the deliveries of the last 24 hours, regardless of the filters."""
        day: QuerySet[Any] = self.root_queryset.filter(created_at__gte=timezone.now() - ONE_DAY)
        return day.order_by()

    @property
    def empty_text(self) -> SafeString | str:
        """Return the text for an empty, unfiltered list."""
        if self.endpoints.exists():
            return "No events have occurred yet."
        chatbots = reverse("admin:chatbots_chatbot_changelist")
        link = '{} <a class="link" href="{}">Open a chatbot and choose Webhook</a>'
        return format_html(link, "No webhook is configured.", chatbots)

    def kept(self, request: HttpRequest, given: dict[str, str]) -> "QuerySet[Any]":
        """Select the matching rows that the page can reach."""
        matching, time = self.without_time(request)
        key, after = self.get_key(request), request.GET.get(AFTER)
        rows = rows_after(self.root_queryset.filter(**time), key, after)
        narrow, chatbots = narrowed(given), self.chatbots(request, given)
        size = self.list_per_page + 1
        if chatbots is None:
            if set(given) <= {"state__exact", "code"} and len(given) < 2:
                return matching.filter(**time)
            newest = rows.filter(**narrow) if narrow else rows
            places = newest.order_by(*key).values_list("created_at", flat=True)
            self.reached = next(iter(places[LOOKED_AT : LOOKED_AT + 1]), None)
            return matching.filter(**time | since(self.reached))
        failed = given.get("state__exact") == State.FAILED
        exact = set(given) <= SCOPES | ({"state__exact"} if failed else set())
        if not exact:
            if narrow and not failed and is_rare(narrow):
                return matching.filter(**time)
            size = max(size, LOOKED_AT // max(1, len(chatbots)))
        column = "failed_of" if failed else "chatbot"
        bound = reach(rows, chatbots, size, column=column)
        self.reached = None if exact else bound
        # The list is ordered by an expression that no index matches. If an index matched it,
        # SQLite would use that index and read the rows of all accounts.
        ordered = Coalesce(F("created_at"), F("created_at")).desc()
        kept = matching.filter(**{f"{column}__in": chatbots}, **time | since(bound))
        return kept.order_by(ordered, "-id")

    def failures(self, request: HttpRequest) -> "QuerySet[Any]":
        """Select the matching rows among the newest failures.

        Sets `reached` to the creation time of the oldest of these failures, or to None if all
        failures are included.
        """
        failed = self.queryset.filter(state=State.FAILED)
        if self.query:
            return failed
        time, limit = self.times.bounds(), FAILURES
        rows = Delivery.objects.filter(**time).order_by("-created_at", "-id")
        chatbots = self.chatbots(request, given_filters(request))
        if chatbots is None:
            rows = rows.filter(state=State.FAILED)
            times = rows.values_list("created_at", flat=True)
            self.reached = next(iter(times[limit - 1 : limit]), None)
        else:
            size = max(OF_ONE, limit // max(1, len(chatbots)))
            limit = size * len(chatbots)
            self.reached = reach(rows, chatbots, size, column="failed_of")
            rows = Delivery.objects.filter(failed_of__in=chatbots, **time | since(self.reached))
        return failed.filter(pk__in=Collected(rows.values("pk")[:limit]))

    def without_time(self, request: HttpRequest) -> tuple["QuerySet[Any]", dict[str, datetime]]:
        """Apply all filters except the time filter.

        Returns the rows and the time filter's conditions.

        A query should have at most one upper and one lower bound on a column. If there are several
        upper or lower bounds, SQLite uses only the first to find its place in an index. On any page
        after the first, the upper bound is the page's own position, which replaces the end of the
        filter's time range.
        """
        bounds = self.times.bounds()
        if request.GET.get(AFTER):
            bounds.pop("created_at__lte", None)
        own = [*filter(None, self.times.expected_parameters())]
        return self.get_queryset(request, own), bounds

    @property
    def times(self) -> TimeRangeFilter:
        """Return the time filter."""
        [found] = [one for one in self.filter_specs if isinstance(one, TimeRangeFilter)]
        return found

    def chatbots(self, request: HttpRequest, given: dict[str, str]) -> list[UUID] | None:
        """Return the ids of the chatbots whose deliveries can match, or None for all chatbots."""
        if "chatbot" in given:
            wanted = whole_id(given["chatbot"])
            return [wanted] if wanted else []
        visible = None if person(request).is_superuser else visible_ids(request)
        if "account" in given:
            wanted = whole_id(given["account"])
            chatbots = chatbots_of(wanted) if wanted else []
            return [one for one in chatbots if visible is None or one in visible]
        return visible


def given_filters(request: HttpRequest) -> dict[str, str]:
    """Return the filters in a request's URL, with their values."""
    return {name: request.GET[name] for name in FILTERS if request.GET.get(name)}


def since(time: datetime | None) -> dict[str, datetime]:
    """Return a condition for rows created at `time` or later, or {} if `time` is None."""
    return {"created_at__gte": time} if time else {}


def narrowed(given: dict[str, str]) -> dict[str, Any] | None:
    """Return the filters' condition on an indexed column, or None if they imply no such condition.

    The column is either the response class or the state.
    """
    code, cause = given.get("code"), given.get("cause", "")
    if cause:
        code = f"{class_of(int(cause))}xx" if is_code(cause) else "none"
    if code in CLASSES:
        return {"answer_class": CLASSES[code]}
    state = State.SUCCESS if code == SUCCEEDED else given.get("state__exact")
    return {"state": state} if state else None


def is_rare(condition: dict[str, Any]) -> bool:
    """Return whether at most LOOKED_AT deliveries across all accounts meet the condition."""
    newest = Delivery.objects.filter(**condition).order_by("-created_at", "-id")
    return not newest.values_list("pk")[LOOKED_AT : LOOKED_AT + 1]


def reach(
    rows: "QuerySet[Any]", chatbots: list[UUID], size: int, *, column: str
) -> datetime | None:
    """Find a time at or after which at least `size` of the chatbots' rows were created.

    For each chatbot, this looks up the creation time of the `size`th newest row. Returns the latest
    of these times, or None if no chatbot has that many rows. `column` is the indexed column that
    identifies the chatbot.
    """
    of_one = rows.filter(**{column: OuterRef("pk")}).order_by("-created_at", "-id")
    place = Subquery(of_one.values("created_at")[size - 1 : size])
    times = Chatbot.everything.filter(pk__in=chatbots).order_by().annotate(place=place)
    latest: datetime | None = times.aggregate(latest=Max("place"))["latest"]
    return latest
