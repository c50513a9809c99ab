"""The list of deliveries. A page's cost is bounded for any number of rows and any filters.

Indexes sort the deliveries newest first, overall and within each chatbot, state and response class.
If the matching rows are exactly one range of an index, a page reads only the rows that it shows.
Any other page examines a bounded number of rows in the order of an index and keeps those that
match. If too few match to fill the page, the page offers to look further back.

To list the deliveries of several chatbots, a database would either sort all of their rows, or read
the rows of all accounts in order and skip most of them. To avoid both, the list first computes how
far back the page can reach. For each chatbot, it looks up the creation time of the delivery that
would complete a page. Deliveries older than the latest of these times cannot be on the page.
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
from config.admin.page import bounded, in_words
from config.database.collected import Collected
from config.durations import ONE_DAY
from config.outbound.failures import class_of
from webhooks.admin.delivery_counts import BESIDE, counts, shown
from webhooks.admin.delivery_page import visible_ids
from webhooks.models import Delivery, Endpoint
from webhooks.models.delivery import State
from webhooks.services.selection import CLASSES, SUCCEEDED, is_code

TABS = (State.FAILED, State.RETRYING, State.PENDING, State.SUCCESS)
LOOKED_AT = 2_000  # rows to examine if no index matches the filters; more for 77 or more chatbots
SCOPES = {"chatbot", "account"}
FILTERS = {"event__exact", "state__exact", "is_test__exact", "code", "cause", *SCOPES}
NIL = UUID(int=0)  # sorts before every id
# If no deliveries match, the list shows how many there were in the last day, up to this number
COUNTED = 10_000
FAILURES = 10_000  # maximum failures on "Failures by cause", divided equally among the chatbots
OF_ONE = 1_000  # minimum per chatbot; with more than ten chatbots, the sum exceeds FAILURES


class DeliveryList(KeysetChangeList):
    """The deliveries that a user may see, newest first."""

    queryset: "QuerySet[Any]"
    reached: datetime | None = None  # deliveries before this were not examined; None if all were
    made_filters: Any = None  # Any: as Django's `get_filters` returns them

    def get_filters(self, request: HttpRequest) -> Any:
        """Create the filters once per page: some read their choices from the database."""
        self.made_filters = self.made_filters or super().get_filters(request)
        return self.made_filters

    def get_results(self, request: HttpRequest) -> None:
        """Read one page, and examine deliveries only as far back as the page can reach."""
        matching = self.queryset
        endpoints = scoped_rows(self.model_admin.admin_site, Endpoint, request)
        self.endpoints = endpoints.order_by()
        if not self.query:
            self.queryset = self.kept(request, given_filters(request))
        self.countable = self.queryset if self.reached else matching
        super().get_results(request)
        self.queryset = matching  # an export is not limited to what the page can reach
        self.counts: Counter[str] = Counter()
        if not self.query and set(self.params) <= {"state__exact"}:
            beside = None if self.result_list else self.last_day[: COUNTED + 1]
            self.counts = counts(self.chatbots(request, {}), beside=beside, person=person(request))

    def completed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Annotate the rows with the database's current time, for the countdowns.

        Reading the time with the rows saves a query.
        """
        annotated: QuerySet[Any] = rows.annotate(read_at=Now())
        return annotated

    def tabs(self) -> list[tuple[str, str]]:
        """Return each tab's state and its count, which is empty if it is zero or was not read."""
        return [(state, shown(self.counts[state])) for state in TABS]

    def count_in_words(self, cap: int) -> str:
        """Count the matching rows that a page can reach, up to a cap."""
        least = "at least " if self.countable is not self.queryset else ""
        return least + (bounded(self.countable, cap=cap) or "no")

    def get_next(self, rows: list[Any], key: tuple[str, ...]) -> str | None:
        """Return where the next page begins; None if nothing follows.

        If older deliveries were not examined, the last page's link looks further back among them.
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
            return f"No matches among the newest deliveries, back to {time}."
        if BESIDE in self.counts:
            count = in_words(self.counts[BESIDE], cap=COUNTED)
        else:
            count = bounded(self.last_day, cap=COUNTED)
        words = (count or "None").capitalize()
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
        # The list's order. The expression is written so that no index can be used: with an index in
        # this order, SQLite would read the rows of all accounts.
        ordered = Coalesce(F("created_at"), F("created_at")).desc()
        kept = matching.filter(**{f"{column}__in": chatbots}, **time | since(bound))
        return kept.order_by(ordered, "-id")

    def failures(self, request: HttpRequest) -> "QuerySet[Any]":
        """Select the matching rows among the newest failures.

        Sets `reached` to the time to which these failures go back, or to None if all are included.
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
        """Return the rows that the other filters select, and the time filter's conditions.

        If a query has several upper (or lower) bounds on a column, SQLite uses the first one to
        find its place in an index, so only the tightest one is applied. On any page after the
        first, the upper bound is the page's own position, not the end of the filter's time range.
        """
        bounds = self.times.bounds()
        if request.GET.get(AFTER):
            bounds.pop("created_at__lte", None)
        return self.get_queryset(request, self.times.expected_parameters()), bounds

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
    """Return the filters that a request names, with their values."""
    return {name: request.GET[name] for name in FILTERS if request.GET.get(name)}


def since(time: datetime | None) -> dict[str, datetime]:
    """Return the condition that a row is not older than `time`, or {} if no time is given."""
    return {"created_at__gte": time} if time else {}


def narrowed(given: dict[str, str]) -> dict[str, Any] | None:
    """Return the condition that the filters imply on the response class or on the state.

    Both columns have an index. Returns None if the filters imply no such condition.
    """
    code, cause = given.get("code"), given.get("cause", "")
    if cause:
        code = f"{class_of(int(cause))}xx" if is_code(cause) else "none"
    if code in CLASSES:
        return {"answer_class": CLASSES[code]}
    state = State.SUCCESS if code == SUCCEEDED else given.get("state__exact")
    return {"state": state} if state else None


def is_rare(condition: dict[str, Any]) -> bool:
    """Return whether at most LOOKED_AT deliveries match, counting those of all accounts."""
    newest = Delivery.objects.filter(**condition).order_by("-created_at", "-id")
    return not newest.values_list("pk")[LOOKED_AT : LOOKED_AT + 1]


def reach(
    rows: "QuerySet[Any]", chatbots: list[UUID], size: int, *, column: str
) -> datetime | None:
    """Find a time since which the chatbots together have at least `size` rows.

    For each chatbot, this looks up the creation time of the `size`th newest row. Returns the latest
    of these times, or None if no chatbot has that many rows. `column` is the indexed column that
    identifies the chatbot.
    """
    of_one = rows.filter(**{column: OuterRef("pk")}).order_by("-created_at", "-id")
    place = Subquery(of_one.values("created_at")[size - 1 : size])
    times = Chatbot.everything.filter(pk__in=chatbots).order_by().annotate(place=place)
    latest: datetime | None = times.aggregate(latest=Max("place"))["latest"]
    return latest
