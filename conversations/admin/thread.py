"""The page of a thread, on which agents read the conversation and answer the visitor.

Every button sends a POST to a view that calls a service. The page itself contains no business
rules.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils.http import quote_etag

from accounts.admin.scope import ScopedAdmin, person, with_row
from chatbots.admin.scope import open_chatbots
from chatbots.admin.versions import number_in
from config.admin.keyset import whole_id
from config.admin.page import first_time, missing_row, page
from config.admin.post_only import post_only
from config.database.ids import new_id
from conversations.access import lock_thread
from conversations.admin import conversation
from conversations.admin.forms import AssignForm, DetailsForm, NoteForm, ReplyForm, TagForm
from conversations.admin.inbox_filters import agents
from conversations.admin.inbox_views import LAST
from conversations.admin.waiting_time import ago
from conversations.models import Draft, Message, Thread
from conversations.models.thread import MOST_TAGS, Mode, ThreadQuerySet
from conversations.services import agent_message, escalation, presence, threads, timeline

ANSWERED = (
    "Not sent: another agent answered while you were writing. Read the answer below, then change "
    "your text or send it anyway."
)
ASSIGNED = (
    "Not assigned: a colleague has assigned this conversation to {name} in the meantime. To change "
    "that, assign it again."
)
ALREADY_SENT = (
    "Not sent: this form was already used to send another text, which is in the conversation. "
    "To send this text too, press Send again."
)


def state_tag(thread: Thread, state: str, others: list[str]) -> str:
    """Return the ETag for a poll. It depends on the thread's state and the other agents' names."""
    digest = blake2b("\n".join([state, *others]).encode(), digest_size=6).hexdigest()
    return quote_etag(f"{thread.last_position}-{thread.updated_at.timestamp()}-{digest}")


def page_url(thread: Thread) -> str:
    """Return the path of a thread's page in the admin."""
    return reverse("admin:conversations_thread_change", args=[thread.pk])


def polled_threads(request: HttpRequest) -> ThreadQuerySet:
    """Select the threads that the user may see. Runs few queries, because open pages poll often."""
    rows = Thread.objects.all()
    if person(request).is_superuser:
        return rows
    return rows.filter(chatbot__in=open_chatbots(request))


class ThreadDetailAdmin(ScopedAdmin):
    """A thread's page, with its messages as bubbles and a reply box."""

    def get_urls(self) -> list[URLPattern]:
        """Add the routes that the page's buttons and its script call."""
        return [*map(self.route, self.buttons()), *super().get_urls()]

    def buttons(self) -> tuple[tuple[str, Any], ...]:
        """Return the last path segment and the view of each route below a thread's URL."""
        return (
            ("reply", post_only(self.reply)),
            ("mode", post_only(self.set_mode)),
            ("resolve", post_only(self.resolve)),
            ("note", post_only(self.note)),
            ("assign", post_only(self.assign)),
            ("unread", post_only(self.mark_unread)),
            ("important", post_only(self.mark_important)),
            ("details", post_only(self.details)),
            ("tag", post_only(self.tag)),
            ("untag", post_only(self.untag)),
            ("seen", post_only(self.seen)),
            ("discard", post_only(self.discard)),
            ("messages", self.poll),
        )

    def route(self, button: tuple[str, Any]) -> URLPattern:
        """Return a route below a thread's URL. Only signed-in staff can use it."""
        name, view = button
        route: URLPattern = path(
            f"<uuid:object_id>/{name}/",
            self.admin_site.admin_view(view),
            name=f"conversations_thread_{name}",
        )
        return route

    def has_answer_permission(self, request: HttpRequest, obj: Thread | None = None) -> bool:
        """Return whether the user may answer, which requires the permission to change threads."""
        return person(request).has_perm("conversations.change_thread")

    @with_row("view")
    def change_view(
        self, request: HttpRequest, thread: Thread, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the thread, not the admin's form. If the URL specifies a message, redirect to it."""
        if place := conversation.place_of(thread, request.GET.get("message", "")):
            return HttpResponseRedirect(f"{page_url(thread)}{place}")
        return self.show(request, thread)

    def show(
        self,
        request: HttpRequest,
        thread: Thread,
        *,
        typed: str | None = None,
        details: Any = None,
        answers: Sequence[Message] = (),
    ) -> HttpResponse:
        """Render the page.

        `typed` is the text of an answer that was not sent. It may be empty. `answers` are the
        messages that other agents have sent in the meantime.
        """
        draft = conversation.chosen_draft(thread, request)
        offered = draft if typed is None else None
        canned = conversation.canned_replies(thread, person(request))
        chosen = {str(reply.pk): text for reply, text in canned}.get(request.GET.get("canned", ""))
        previous, following = conversation.neighbors(self.get_queryset(request), thread)
        return page(
            self,
            request,
            "admin/conversations/thread.html",
            title=str(thread.visitor),
            thread=thread,
            taken_over=ago(thread.taken_over_at),
            waits=ago(thread.waiting_since),
            answers=answers,
            previous=previous,
            following=following,
            typed=offered.content if offered else typed or chosen or "",
            draft=draft,
            offered=offered,
            agent=person(request),
            canned=canned,
            note_token=new_id().hex,
            people=agents(request, [thread.chatbot_id]),
            details=details or DetailsForm.of(thread),
            lead=getattr(thread, "lead", None),
            others=conversation.other_threads(thread),
            deliveries=conversation.delivery_counts(thread),
            can_answer=self.has_answer_permission(request, thread),
            can_delete=self.has_delete_permission(request, thread),
            **conversation.excerpt_context(thread, request),
        )

    @with_row("answer")
    def reply(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Answer the visitor. In AI mode this also takes the thread over."""
        form = ReplyForm(request.POST)
        typed = request.POST.get("content", "")
        if not form.is_valid():
            for faults in form.errors.values():
                messages.error(request, f"Not sent: {' '.join(map(str, faults))}")
            return self.show(request, thread, typed=typed)
        given = form.cleaned_data
        try:
            sent = agent_message.answer(
                thread.pk,
                agent=person(request),
                content=given["content"],
                newest_seen=given["newest_seen"],
                form_token=given["form_token"],
                draft_id=given["draft"],
            )
        except agent_message.AnsweredMeanwhile as held:
            messages.warning(request, ANSWERED)
            thread.refresh_from_db()
            return self.show(request, thread, typed=typed, answers=held.answers)
        if sent.content != given["content"]:
            messages.warning(request, ALREADY_SENT)
            return self.show(request, thread, typed=typed)
        if request.POST.get("then") == "resolve":
            return self.resolve_and_go_on(request, thread)
        return HttpResponseRedirect(f"{page_url(thread)}#reply")

    def resolve_and_go_on(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Resolve an answered thread, and open the next waiting one, or the inbox if none waits."""
        _, following = conversation.neighbors(self.get_queryset(request), thread)
        threads.update(thread.pk, {"resolved": True})
        messages.success(request, f"Sent and resolved: {thread.visitor}")
        inbox = f"{self.url_of('changelist')}?view=waiting"
        return HttpResponseRedirect(page_url(following) if following else inbox)

    @with_row("answer")
    def set_mode(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Take the thread over, or return it to the AI."""
        if request.POST.get("to") == Mode.AGENT:
            escalation.take_over(thread.pk, agent=person(request))
        else:
            escalation.return_to_ai(thread.pk)
        return HttpResponseRedirect(page_url(thread))

    @with_row("answer")
    def resolve(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Mark the thread as resolved, or reopen it."""
        threads.update(thread.pk, {"resolved": request.POST.get("resolved") == "1"})
        return HttpResponseRedirect(page_url(thread))

    @with_row("answer")
    def assign(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Assign the thread to a person, or to nobody."""
        form = AssignForm(agents(request, [thread.chatbot_id]), request.POST)
        seen = request.POST.get("seen")
        try:
            if not form.is_valid():
                raise timeline.NotAnAgent
            assignee = form.cleaned_data["assignee"]
            timeline.assign(thread.pk, assignee, by=person(request), seen=seen)
        except timeline.NotAnAgent:
            messages.error(request, "Not assigned: this person may not answer here")
        except timeline.AssignedMeanwhile as meanwhile:
            name = meanwhile.assignee.get_full_name() if meanwhile.assignee else "nobody"
            messages.warning(request, ASSIGNED.format(name=name))
        return HttpResponseRedirect(page_url(thread))

    @with_row("answer")
    def note(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Add an internal note. A double click adds it once."""
        form = NoteForm(request.POST)
        if not form.is_valid():
            messages.error(request, "Not added: a note must contain text")
        else:
            with first_time(request) as first:
                if first:
                    timeline.note(thread.pk, form.cleaned_data["text"], author=person(request))
        return HttpResponseRedirect(f"{page_url(thread)}#reply")

    @with_row("answer")
    def mark_unread(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Mark the thread as unread, and return to the inbox, because its page marks it as read."""
        threads.mark_unread(thread.pk)
        messages.success(request, f"The conversation with {thread.visitor} was marked as unread")
        return HttpResponseRedirect(f"{self.url_of('changelist')}?view={LAST}")

    @with_row("answer")
    def mark_important(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Mark the thread as important, or remove the mark."""
        threads.update(thread.pk, {"important": request.POST.get("important") == "1"})
        return HttpResponseRedirect(page_url(thread))

    @with_row("answer")
    def details(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Save the thread and visitor fields that were changed in the details form."""
        with transaction.atomic():
            form = DetailsForm.of(lock_thread(thread.pk), request.POST)
            if form.is_valid() and (changes := form.changes()):
                threads.update(thread.pk, changes)
                messages.success(request, "Saved")
        if form.errors:
            return self.show(request, thread, details=form)
        return HttpResponseRedirect(page_url(thread))

    @with_row("answer")
    def tag(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Add a tag to the thread."""
        form = TagForm(request.POST)
        if not form.is_valid():
            messages.error(request, f"Not tagged: {' '.join(map(str, form.errors['tag']))}")
        elif not threads.add_tag(thread.pk, form.cleaned_data["tag"]):
            messages.error(request, f"Not tagged: at most {MOST_TAGS} tags are allowed")
        return HttpResponseRedirect(page_url(thread))

    @with_row("answer")
    def untag(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Remove a tag from the thread."""
        threads.remove_tag(thread.pk, request.POST.get("tag", ""))
        return HttpResponseRedirect(page_url(thread))

    @with_row("answer")
    def seen(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Mark the thread as read. The script calls this while the page is visible."""
        threads.mark_seen(thread.pk)
        return HttpResponse(status=204)

    @with_row("answer")
    def discard(self, request: HttpRequest, thread: Thread) -> HttpResponse:
        """Discard a draft and return to the page."""
        self.throw_away(thread, request.POST.get("draft"))
        return HttpResponseRedirect(page_url(thread))

    def throw_away(self, thread: Thread, draft_id: UUID | str | None) -> None:
        """Delete a draft if it belongs to this thread."""
        wanted = whole_id(str(draft_id or ""))
        drafts = Draft.objects.filter(message__thread=thread)
        if wanted and (draft := drafts.filter(pk=wanted).first()):
            agent_message.discard_draft(draft)

    def poll(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        """Return the messages after a position as HTML in JSON, or 304 if nothing has changed."""
        rows = conversation.with_extras(polled_threads(request))
        thread: Any = rows.filter(pk=object_id).first()  # with annotations
        if thread is None:
            return missing_row(self, request, object_id)
        others = presence.renew(thread.pk, person(request))
        state = conversation.state_of(
            thread, thread.drafts_count, thread.newest_draft_at, thread.newest_entry
        )
        tag = state_tag(thread, state, others)
        if request.headers.get("If-None-Match") == tag:
            response = HttpResponse(status=304)
        else:
            new = conversation.since(thread, number_in(request.GET.get("after")) or 0)
            shown = {
                "bubbles": new,
                "thread": thread,
                "can_answer": bool(new) and self.has_answer_permission(request, thread),
            }
            html = render_to_string("admin/conversations/bubbles.html", shown, request)
            last = new[-1].message if new else None
            if last and last.position < thread.last_position:
                tag = ""  # later messages are missing, so the next poll must not get a 304
            response = JsonResponse(
                {
                    "html": html,
                    "position": last.position if last else thread.last_position,
                    "newest": last and last.pk,
                    "state": state,
                    "others": others,
                }
            )
        if tag:
            response["ETag"] = tag
        response["Cache-Control"] = "private, no-cache"
        return response
