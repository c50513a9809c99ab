"""The inbox list, which shows one view at a time, with tabs and a footer."""

from collections import Counter
from datetime import datetime
from typing import Any, cast

from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.scope import once, person
from config.admin.keyset import KeysetChangeList
from conversations.admin import inbox_views, saved_views
from conversations.admin.inbox_filters import BOUNDED, KEPT
from conversations.admin.inbox_views import LATEST, SHOWN, VIEWS, shown
from conversations.admin.waiting_time import ago
from conversations.models import Thread
from conversations.models.thread import ThreadQuerySet
from conversations.services.search import NEWEST, NEWEST_KEPT, Hits

VIEW = "view"


def found(request: HttpRequest) -> Hits:
    """Return the hits that get_search_results found for this request."""
    return once(request, "hits", Hits)


def answered(last: tuple[datetime, str] | None) -> SafeString | str:
    """Say when the last answer was sent and by which agent, or return "" if there is no answer."""
    if last is None:
        return ""
    moment, agent = last
    return format_html(
        ' Last answer <time datetime="{}">{} ago</time> by {}.',
        moment.isoformat(),
        ago(moment),
        agent,
    )


class InboxList(KeysetChangeList):
    """The threads of one view, or of a search.

    The "waiting" view lists the longest wait first. Other views and searches list the latest
    activity first.
    """

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        self.view = inbox_views.chosen(request.GET.get(VIEW))
        self.counts: Counter[str] = Counter()
        self.hits = Hits()
        self.last_answer: tuple[datetime, str] | None = None
        super().__init__(request, *args, **options)
        self.title = "Inbox"
        self.saved = saved_views.shown(request, self.model_admin)
        self.save_form = saved_views.form_for(request, auto_id="save-%s")

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str] | None = None
    ) -> "QuerySet[Any]":
        """Select the threads in the current view or, when searching, in all views."""
        self.params.pop(VIEW, None)
        self.filter_params.pop(VIEW, None)
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        if self.query:  # a search covers the threads in all views
            return rows
        kept: QuerySet[Any] = VIEWS[self.view].keep(cast(ThreadQuerySet, rows), person(request))
        return kept

    def completed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Read each thread with its visitor, its chatbot and the text that the list quotes."""
        page: Any = Thread.objects.filter(pk__in=rows.values("pk"))  # a queryset of threads
        kept = inbox_views.with_words(page, found=self.hits.messages)
        return kept.select_related("visitor", "chatbot", "assignee").order_by(*self.order)

    def get_results(self, request: HttpRequest) -> None:
        """Read the page's threads and the tabs' counts."""
        self.hits = found(request)
        super().get_results(request)
        if self.query:
            return
        self.counts = inbox_views.counts(self.root_queryset, person(request))
        once(request, "waiting_count", lambda: self.counts["waiting"])  # reused by the menu
        if self.view == "waiting" and not self.result_list:
            self.last_answer = inbox_views.last_answer(self.root_queryset, person(request))

    def get_key(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the columns that the list is ordered by."""
        return self.order

    @property
    def order(self) -> tuple[str, ...]:
        """Return the columns that the view, or a search, is ordered by."""
        return LATEST if self.query else VIEWS[self.view].key

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Keep the view in every link on the list page."""
        text: str = super().get_query_string({VIEW: self.view} | (new_params or {}), remove)
        return text

    @property
    def empty_text(self) -> str:
        """Return the text for an empty view."""
        if self.view == "waiting":
            link = '{}{} <a class="link" href="?view=open">Show all open conversations</a>'
            return format_html(link, "Nobody is waiting.", answered(self.last_answer))
        return str(self.model_admin.empty_text)

    @property
    def unfiltered_url(self) -> str:
        """Return the URL of the view without filters or a search."""
        return f"?{VIEW}={self.view}"

    @property
    def bounded(self) -> int:
        """Return the maximum number of threads that the filters select, or 0 if unlimited."""
        return NEWEST_KEPT if BOUNDED & set(self.params) else 0

    @property
    def total(self) -> str:
        """Return the footer of the first page: the number of threads, or a lower bound."""
        if self.paginator.first_url:
            return ""
        count: int | str
        if self.paginator.next_url is None:
            count = len(self.result_list)
        else:
            counted = not (self.query or self.has_active_filters)
            count = shown(self.counts[self.view]) if counted else f"more than {SHOWN}"
        return f"{count} conversation{'' if count == 1 else 's'}"

    @property
    def more_hits(self) -> int:
        """Return the limit on the hits of each kind if any kind exceeded it, otherwise 0."""
        return NEWEST if self.hits.more else 0

    def tabs(self) -> list[dict[str, Any]]:
        """Return the links to the views, shown above the list."""
        return [
            {
                "label": view.label,
                "url": self.get_query_string({VIEW: name}, [SEARCH_VAR]),
                "active": name == self.view and not self.query,
                "count": "" if self.has_active_filters else shown(self.counts[name]),
            }
            for name, view in VIEWS.items()
        ]

    @property
    def live(self) -> str:
        """Return the query string for the poll, or "" if the list is not live."""
        if self.query or set(self.params) - set(KEPT) or self.paginator.first_url:
            return ""
        return self.get_query_string()

    @property
    def stamps(self) -> str:
        """Return the rows' stamps (see `stamp`), which the script compares with a poll's stamps."""
        rows = self.result_list
        return " ".join(inbox_views.stamp(thread.pk, thread.updated_at) for thread in rows)
