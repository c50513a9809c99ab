"""The inbox, where agents see which conversations need an answer."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin import display
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.forms import Form, Script
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.template.defaultfilters import truncatechars
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import action
from unfold.views import ChangeList

from accounts.admin.scope import ReadOnly, once, person
from accounts.models import User
from chatbots.admin.erasing import KEPT_IN_THE_LOG, Erasing
from chatbots.admin.scope import AccountFilter, ChatbotFilter, ChatbotRows
from config.admin.dates import TimeRangeFilter
from config.admin.export import Exporting
from config.admin.keyset import whole_id
from config.admin.page import page, unless_unchanged
from config.admin.post_only import post_only
from conversations.access import ThreadNotFound
from conversations.admin import inbox_views, saved_views
from conversations.admin.forms import AssignForm, TagsForm
from conversations.admin.inbox_filters import (
    FLAG_FILTERS,
    AssigneeFilter,
    DislikedFilter,
    FallbackFilter,
    LeadFilter,
    PlatformFilter,
    TagFilter,
    agents,
    applied,
    scope,
)
from conversations.admin.inbox_list import VIEW, InboxList
from conversations.admin.inbox_views import LAST, SHOWN, VIEWS
from conversations.admin.thread import ThreadDetailAdmin, polled_threads
from conversations.admin.waiting_time import since, waited
from conversations.models import Thread
from conversations.models.message import MessageType
from conversations.models.thread import MOST_TAGS
from conversations.services import search, threads, timeline
from conversations.services.erasure import erase_thread

LAST_WORDS = 80  # maximum length of a quoted message
SPEAKERS = {
    MessageType.USER_MESSAGE: "Visitor: ",
    MessageType.AI_MESSAGE: "AI: ",
    MessageType.AGENT_MESSAGE: "Agent: ",
    MessageType.SYSTEM_MESSAGE: "System: ",
}
SHOWN_FLAGS = ("important", "resolved", "archived")  # listed after "escalated"
REMEMBERED = "inbox"  # name of the cookie that stores the query string of the last-viewed list


def waiting(rows: Any) -> "QuerySet[Thread]":
    """Narrow a queryset to the threads whose visitor is waiting for an agent."""
    kept: QuerySet[Thread] = rows.waiting()
    return kept


Changed = TypeVar("Changed")


def selected(rows: "QuerySet[Thread]") -> list[UUID]:
    """Return the ids of the selected threads, up to one page."""
    return list(rows.order_by().values_list("pk", flat=True)[:SHOWN])


def change_each(keys: list[UUID], change: Callable[[UUID], Changed]) -> list[Changed]:
    """Change threads one by one and return the results. Skips threads erased in the meantime."""
    results = []
    for key in keys:
        with suppress(ThreadNotFound):
            results.append(change(key))
    return results


def conversations(count: int) -> str:
    """Format a number of conversations, such as "2 conversations"."""
    return f"{count} conversation{'' if count == 1 else 's'}"


class Inbox(ChatbotRows):
    """The actions on selected threads, and the route that the page polls for changes."""

    actions = (
        "assign_selected",
        "resolve_selected",
        "archive_selected",
        "mark_selected",
        "unread_selected",
        "tag_selected",
    )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list. If the view is LAST, redirect to the last-used view and filters."""
        if request.GET.get(VIEW) == LAST:
            kept = QueryDict(request.COOKIES.get(REMEMBERED, ""), mutable=True)
            if kept.get(VIEW) in VIEWS:
                return HttpResponseRedirect(f"{request.path}?{kept.urlencode()}")
        answer: HttpResponse = super().changelist_view(request, extra_context)
        return answer

    def get_urls(self) -> list[URLPattern]:
        """Add the route that the page polls, and the one that changes saved views."""
        news = path(
            "news/", self.admin_site.admin_view(self.news), name="conversations_thread_news"
        )
        views = path(
            "views/",
            self.admin_site.admin_view(post_only(self.change_views)),
            name="conversations_thread_views",
        )
        return [news, views, *super().get_urls()]

    def change_views(self, request: HttpRequest) -> HttpResponse:
        """Save the shown view under a name, or delete a saved view, and return to the list."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        query = request.POST.get("query", "")
        if "remove" in request.POST:
            saved_views.remove(request)
        else:
            try:
                view = saved_views.save(request, self)
                query = view.query
                messages.success(request, f"View “{view}” saved")
            except ValidationError as error:
                messages.error(request, f"Not saved: {' '.join(error.messages)}")
        return HttpResponseRedirect(f"{self.url_of('changelist')}?{query}")

    def news(self, request: HttpRequest) -> HttpResponse:
        """Return the id and state of each row on a view's first page, or 304 if nothing changed."""
        rows = applied(request, polled_threads(request))
        view = inbox_views.chosen(request.GET.get(VIEW))
        minute = int(timezone.now().timestamp() // 60)
        found = inbox_views.news(rows, person(request), view, minute=minute)
        return unless_unchanged(request, found.tag, lambda: JsonResponse({"rows": found.rows}))

    @action(description="Resolve", permissions=["answer"])
    def resolve_selected(self, request: HttpRequest, rows: "QuerySet[Thread]") -> None:
        """Mark the selected threads as resolved."""
        self.change_all(request, rows, {"resolved": True}, "resolved")

    @action(description="Archive", permissions=["answer"])
    def archive_selected(self, request: HttpRequest, rows: "QuerySet[Thread]") -> None:
        """Archive the selected threads."""
        self.change_all(request, rows, {"archived": True}, "archived")

    @action(description="Mark as important", permissions=["answer"])
    def mark_selected(self, request: HttpRequest, rows: "QuerySet[Thread]") -> None:
        """Mark the selected threads as important."""
        self.change_all(request, rows, {"important": True}, "marked as important")

    @action(description="Mark as unread", permissions=["answer"])
    def unread_selected(self, request: HttpRequest, rows: "QuerySet[Thread]") -> None:
        """Mark the selected threads as unread."""
        keys = selected(rows)
        for key in keys:
            threads.mark_unread(key)
        messages.success(request, f"{conversations(len(keys))} marked as unread")

    @action(description="Assign to", permissions=["answer"])
    def assign_selected(
        self, request: HttpRequest, rows: "QuerySet[Thread]"
    ) -> HttpResponse | None:
        """Ask for a person, then assign the selected threads to this person."""
        keys = selected(rows)
        bots = {row.chatbot_id for row in rows.filter(pk__in=keys)}
        form = AssignForm(
            agents(request, bots), request.POST if "assignee" in request.POST else None
        )
        if not form.is_valid():
            return self.ask(request, "assign_selected", keys, form, title="Assign", button="Assign")
        self.assign_all(request, keys, form.cleaned_data["assignee"])
        return None

    def assign_all(self, request: HttpRequest, keys: list[UUID], assignee: User | None) -> None:
        """Assign threads to a person, even if they are assigned to somebody else.

        Says how many were. Warns about threads in which the person may not answer.
        """
        before = []
        for key in keys:
            with suppress(ThreadNotFound, timeline.NotAnAgent):
                before.append(timeline.assign(key, assignee, by=person(request)))
        name = assignee.get_full_name() if assignee else "nobody"
        taken = len([one for one in before if one and one != assignee])
        note = f", {taken} of which had been assigned to somebody else" if taken else ""
        messages.success(request, f"{conversations(len(before))} assigned to {name}{note}")
        if left := len(keys) - len(before):
            refused = f"{conversations(left)} skipped: {name} may not answer there"
            messages.warning(request, refused)

    def ask(
        self,
        request: HttpRequest,
        action: str,
        keys: list[UUID],
        form: Form,
        *,
        title: str,
        button: str,
    ) -> HttpResponse:
        """Show the form of an action. Submitting it runs the action on the same threads."""
        return page(
            self,
            request,
            "admin/simple_form.html",
            title=f"{title} {conversations(len(keys))}",
            form=form,
            button=button,
            back=request.get_full_path(),
            fields=[("action", action), *((ACTION_CHECKBOX_NAME, key) for key in keys)],
        )

    def change_all(
        self, request: HttpRequest, rows: "QuerySet[Thread]", changes: dict[str, Any], done: str
    ) -> None:
        """Change up to one page of threads, using the same service as the API."""
        changed = change_each(selected(rows), lambda key: threads.update(key, changes))
        messages.success(request, f"{conversations(len(changed))} {done}")

    @action(description="Tag", permissions=["answer"])
    def tag_selected(self, request: HttpRequest, rows: "QuerySet[Thread]") -> HttpResponse | None:
        """Ask for a tag, then add it to the selected threads or remove it from them."""
        keys = selected(rows)
        form = TagsForm(request.POST if "how" in request.POST else None)
        if not form.is_valid():
            return self.ask(request, "tag_selected", keys, form, title="Tag", button="Save")
        self.tag_all(request, keys, **form.cleaned_data)
        return None

    def tag_all(self, request: HttpRequest, keys: list[UUID], *, tag: str, how: str) -> None:
        """Add a tag to threads or remove it from them. Warns if a thread has reached MOST_TAGS."""
        if how == "remove":
            removed = change_each(keys, lambda key: threads.remove_tag(key, tag))
            messages.success(request, f"Tag “{tag}” removed from {conversations(len(removed))}")
            return
        added = change_each(keys, lambda key: threads.add_tag(key, tag))
        messages.success(request, f"{conversations(sum(added))} tagged “{tag}”")
        if not all(added):
            left = conversations(added.count(False))
            messages.warning(request, f"{left} skipped: at most {MOST_TAGS} tags are allowed")


@admin.register(Thread)
class ThreadAdmin(Erasing, ReadOnly, Exporting, Inbox, ThreadDetailAdmin):
    """The list of threads. ThreadDetailAdmin shows a single thread."""

    key = inbox_views.LATEST
    list_per_page = SHOWN
    export_key = ("-id",)
    export_columns = {
        "id": "pk",
        "startedAt": "started_at",
        "updatedAt": "updated_at",
        "chatbotId": "chatbot_id",
        "chatbot": "chatbot__name",
        "title": "title",
        "visitorId": "visitor__external_id",
        "visitorName": "visitor__name",
        "visitorEmail": "visitor__email",
        "visitorPhone": "visitor__phone",
        "tags": "tags",
        "escalated": "escalated",
        "important": "important",
        "resolved": "resolved",
        "archived": "archived",
        "unreadMessages": "unread_messages_count",
        "platformSource": "platform_source",
    }
    consequences = ("The visitor is kept.", KEPT_IN_THE_LOG)
    list_display = (
        "waits",
        "visitor_name",
        "last_words",
        "last_activity",
        "assigned_to",
        "chatbot",
        "shown_tags",
        "unread",
        "flags",
    )
    list_display_links = ("visitor_name", "last_words")
    list_filter = (
        AccountFilter,
        ChatbotFilter,
        AssigneeFilter,
        TagFilter,
        *FLAG_FILTERS,
        LeadFilter,
        DislikedFilter,
        FallbackFilter,
        PlatformFilter,
        ("updated_at", TimeRangeFilter),
    )
    list_before_template = "admin/conversations/inbox_tabs.html"
    id_columns = ("pk",)
    uncounted = ("handoffs",)
    search_fields = ("pk",)
    search_help_text = "a complete id, or words from a message, a name, an email address or a tag"
    empty_text = "There are no conversations in this view."

    class Media:
        """The script for the live list."""

        js = (Script("pages/inbox.js", defer=True),)

    def erase(self, row: Thread, entry: LogEntry) -> None:
        erase_thread(row.pk, entry=entry)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        """Use the list that shows one view at a time."""
        return InboxList

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> tuple["QuerySet[Any]", bool]:
        """Search by a complete id, or for words in the threads of the user's chatbots."""
        if not search_term or whole_id(search_term):
            rows, duplicates = super().get_search_results(request, queryset, search_term)
            return rows, duplicates
        hits = once(request, "hits", lambda: search.find(search_term, scope(request)))
        return queryset.filter(pk__in=hits.threads), False

    @display(description="waiting")
    def waits(self, thread: Thread) -> SafeString | str:
        """Show how long the visitor has been waiting, or "" if the visitor is not waiting."""
        return waited(thread)

    @display(description="last activity")
    def last_activity(self, thread: Thread) -> SafeString:
        """Show the time since the last activity."""
        return since(thread.updated_at)

    @display(description="assigned to")
    def assigned_to(self, thread: Thread) -> str:
        """Return the assignee's name, or "" if there is none."""
        return thread.assignee.get_full_name() if thread.assignee else ""

    @display(description="visitor")
    def visitor_name(self, thread: Thread) -> str:
        """Return the visitor's name, email address or both, or the id if neither is known."""
        visitor = thread.visitor
        return f"{visitor} ({visitor.email})" if visitor.name and visitor.email else str(visitor)

    @display(description="last message")
    def last_words(self, thread: Any) -> SafeString | str:
        """Quote the message that `with_words` chose, and name its author."""
        if thread.speaker is None:
            return "no message yet"
        words = truncatechars(thread.words, LAST_WORDS)
        name = thread.agent_name and f"{thread.agent_name}: "
        speaker = name or SPEAKERS[MessageType(thread.speaker)]
        return format_html("{}<bdi>{}</bdi>", speaker, words)

    @display(description="tags")
    def shown_tags(self, thread: Thread) -> SafeString:
        """Show each tag in a box."""
        return format_html_join(" ", '<span class="tag">{}</span>', ([tag] for tag in thread.tags))

    @display(description="unread")
    def unread(self, thread: Thread) -> str:
        """Return the number of unread messages, or "" if there are none."""
        return str(thread.unread_messages_count or "")

    @display(description="flags")
    def flags(self, thread: Thread) -> str:
        """List the flags that are set."""
        answering = ["escalated"] if thread.escalated else []
        return ", ".join([*answering, *(name for name in SHOWN_FLAGS if getattr(thread, name))])
