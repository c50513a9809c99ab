"""Pages for retry jobs: the plan, the progress, and the buttons that stop and resume a job."""

from dataclasses import replace
from datetime import tzinfo
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from unfold.decorators import display
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from accounts.admin.scope import ReadOnly, ScopedAdmin, person, with_row
from config.admin.dates import at, time_element, zone_of
from config.admin.keyset import KeysetChangeList, filtered_list
from config.admin.page import first_time, page, row_routes, unless_unchanged
from config.admin.post_only import post_only
from webhooks.admin.delivery_page import visible_chatbots, visible_ids
from webhooks.admin.filters import query_of, selection_of
from webhooks.models import RetryJob, RetryPart
from webhooks.models.retry_job import JobState
from webhooks.services import retry_job as service
from webhooks.services.retry import PER_SECOND
from webhooks.services.selection import Selection, names_of

COLORS = {"RUNNING": "info", "STOPPED": "warning", "DONE": "warning", "SUCCEEDED": "success"}
FASTEST = 100  # maximum number of deliveries per second for each endpoint
NOTHING = "No FAILED deliveries match this filter. Tests and erased deliveries are excluded."
LISTED = 20  # maximum number of endpoints that a page lists
HELD = "The job waits while SENDING=off; when sending is on again, it resumes at the chosen pace"


class SpeedForm(forms.Form):
    """The form that sets the pace of a retry job."""

    per_second = forms.IntegerField(
        label="Deliveries per second for each endpoint",
        min_value=1,
        max_value=FASTEST,
        initial=PER_SECOND,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Start slowly if the receivers may still be recovering",
    )


def log_url(selection: Selection, zone: tzinfo) -> str:
    """Return the URL of the delivery log, filtered by a selection."""
    return f"{reverse('admin:webhooks_delivery_changelist')}?{urlencode(query_of(selection, zone))}"


def figure(count: int) -> str:
    """Format a count of deliveries; above the cap, show the cap followed by "+"."""
    return f"{service.COUNTED:,}+" if count > service.COUNTED else f"{count:,}"


class RetryAllAdmin(ScopedAdmin):
    """Extends the log with a page that starts a retry job."""

    def get_urls(self) -> list[URLPattern]:
        """Add the page's route."""
        view = self.admin_site.admin_view(self.retry_all_view)
        return [path("retry-all/", view, name="webhooks_delivery_retry_all"), *super().get_urls()]

    def retry_all_view(self, request: HttpRequest) -> HttpResponse:
        """Preview a retry job for the log's filter, or start the job if the form is submitted."""
        if not person(request).has_perm("webhooks.change_delivery"):
            raise PermissionDenied
        filtered_list(self, request)  # rejects an invalid filter
        selection = selection_of(request.GET, zone_of(request))
        chatbots = None if person(request).is_superuser else visible_ids(request)
        planned = service.plan(selection, chatbots) if selection else None
        if selection is None or planned is None or not planned.endpoints:
            messages.warning(request, NOTHING)
            return HttpResponseRedirect(self.url_of("changelist"))
        form = SpeedForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            with first_time(request) as first:
                if not first:
                    return HttpResponseRedirect(reverse("admin:webhooks_retryjob_changelist"))
                if done := self.start(request, selection, chatbots, form):
                    return done
        return page(
            self,
            request,
            "admin/webhooks/retry_all.html",
            title="Retry all that match",
            words=selection.words(),
            count=figure(planned.count),
            oldest=time_element(planned.oldest) if planned.oldest else "",
            newest=time_element(planned.newest) if planned.newest else "",
            endpoints=planned.endpoints[:LISTED],
            more_endpoints=max(0, len(planned.endpoints) - LISTED),
            form=form,
            held="" if settings.SENDING else HELD,
            back=log_url(selection, zone_of(request)),
        )

    def start(
        self, request: HttpRequest, selection: Selection, chatbots: Any, form: SpeedForm
    ) -> HttpResponse | None:
        """Start the job and redirect to its page. Returns None if it cannot be started."""
        by, pace = person(request).get_full_name(), form.cleaned_data["per_second"]
        try:
            job = service.start(selection, chatbots, per_second=pace, by=by)
        except service.NotStarted as error:
            form.add_error(None, f"Not started: {error}")
            return None
        return HttpResponseRedirect(reverse("admin:webhooks_retryjob_change", args=[job.pk]))


class RetryJobList(KeysetChangeList):
    """A page of retry jobs, each with its filter described in words."""

    def get_results(self, request: HttpRequest) -> None:
        """Describe each job's filter, and count its successes.

        The names of the chatbots and accounts are read for all jobs at once.
        """
        super().get_results(request)
        selections = [Selection.from_json(job.filter) for job in self.result_list]
        names = names_of(selections)
        succeeded = service.successes(self.result_list)
        for job, selection in zip(self.result_list, selections, strict=True):
            job.words = selection.words(names)
            job.succeeded = succeeded.get(job.pk, 0)


@admin.register(RetryJob)
class RetryJobAdmin(ReadOnly, ScopedAdmin):
    """The bulk retries that were started from the log, newest first."""

    list_display = (at("created_at", "started"), "by", "chosen", "shown_state", "progress")
    empty_text = (
        "No bulk retry has been started. "
        "Filter the delivery log, and choose “Retry all that match”."
    )

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the jobs that concern only chatbots whose deliveries the user may see."""
        parts = RetryPart.objects.filter(job=OuterRef("pk"))
        mine = visible_chatbots(request).values("pk")
        foreign = parts.exclude(chatbot__in=mine)
        return rows.filter(Exists(parts.filter(chatbot__in=mine)), ~Exists(foreign))

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Annotate each job with the number of deliveries that it has retried."""
        rows: QuerySet[Any] = super().get_queryset(request)
        counted: QuerySet[Any] = rows.annotate(retried=Sum("parts__retried"))
        return counted

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        """Use RetryJobList, which describes each job's filter."""
        return RetryJobList

    @admin.display(description="filter")
    def chosen(self, job: Any) -> str:
        """Describe the filter."""
        return "; ".join(job.words)

    @display(description="state", label=COLORS)
    def shown_state(self, job: Any) -> str:
        """Show the state as a colored label. Only a job whose retries all succeeded is green."""
        return state_of(job, job.succeeded)

    @admin.display(description="retried")
    def progress(self, job: Any) -> str:
        """Show how many of the deliveries that matched at the start have been retried."""
        return f"{job.retried or 0:,} of {figure(job.expected)}"

    def get_urls(self) -> list[URLPattern]:
        """Add the routes of the buttons and the route that a script polls for updates."""
        routes = row_routes(
            self,
            stop=post_only(self.stop_view),
            resume=post_only(self.resume_view),
            news=self.news_view,
        )
        return [*routes, *super().get_urls()]

    def has_steer_permission(self, request: HttpRequest, obj: RetryJob | None = None) -> bool:
        """Require the permission to change deliveries."""
        return person(request).has_perm("webhooks.change_delivery")

    @with_row("view")
    def change_view(
        self, request: HttpRequest, job: Any, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a job's filter and progress."""
        selection = Selection.from_json(job.filter)
        return page(
            self,
            request,
            "admin/webhooks/retry_job.html",
            title=f"Bulk retry by {job.by}",
            words=selection.words(),
            started=time_element(job.created_at),
            log=log_url(selection, zone_of(request)),
            **self.live_context(request, job),
        )

    def live_context(self, request: HttpRequest, job: Any) -> dict[str, Any]:
        """Return the template context for the part of the page that the script replaces."""
        parts = job.parts.select_related("chatbot").order_by("chatbot__name", "pk")[: LISTED + 1]
        share = (job.retried or 0) / job.expected if job.expected else 1
        found = {} if job.state == JobState.RUNNING else service.outcomes(job)
        total = service.Outcome(*map(sum, zip(*found.values(), strict=True)))
        for part in parts:
            part.outcome = found.get(part.chatbot_id)
            part.succeeded_log, part.failed_log = logs_of(job, part, zone_of(request))
        return {
            "job": job,
            "tag": tag_of(job, total),
            "state": state_of(job, total.succeeded),
            "total": total if found else None,
            "others": (job.retried or 0) - sum(total),
            "moving": job.state == JobState.RUNNING or total.waiting > 0,
            "progress": self.progress(job),
            "percent": 100 if job.state == JobState.DONE else min(99, int(100 * share)),
            "parts": list(parts)[:LISTED],
            "limit": LISTED if len(parts) > LISTED else None,
            "steerable": self.has_steer_permission(request, job),
            "held": "" if settings.SENDING else HELD,
            "said": said_of(job, total),
        }

    @with_row("view")
    def news_view(self, request: HttpRequest, job: Any) -> HttpResponse:
        """Return the changed part of the page, or 304 if the job has not changed."""

        known = self.live_context(request, job)

        def news() -> HttpResponse:
            html = render_to_string("admin/webhooks/retry_job_live.html", known, request)
            return JsonResponse({"html": html, "moving": known["moving"], "said": known["said"]})

        return unless_unchanged(request, known["tag"], news)

    @with_row("steer")
    def stop_view(self, request: HttpRequest, job: RetryJob) -> HttpResponse:
        """Stop the job. The attempts that it has already requested are still made."""
        if service.stop(job, by=person(request).get_full_name()):
            messages.success(request, "Stopped")
        return HttpResponseRedirect(self.url_of("change", job))

    @with_row("steer")
    def resume_view(self, request: HttpRequest, job: RetryJob) -> HttpResponse:
        """Resume the job from where it was stopped."""
        try:
            service.resume(job)
        except service.NotStarted as error:
            messages.error(request, f"Not resumed: {error}")
        return HttpResponseRedirect(self.url_of("change", job))


def logs_of(job: RetryJob, part: RetryPart, zone: tzinfo) -> tuple[str, str]:
    """Return the URLs of the log of a part's chatbot: the SUCCESS and the FAILED deliveries."""
    selection = replace(
        Selection.from_json(job.filter), chatbot=part.chatbot_id, code_class="", cause=""
    )
    failed = log_url(selection, zone)
    return failed.replace("state__exact=FAILED", "state__exact=SUCCESS"), failed


def state_of(job: Any, succeeded: int) -> str:
    """Return the job's state, or SUCCEEDED if it is done and all of its retries succeeded."""
    all_succeeded = job.state == JobState.DONE and succeeded and succeeded == job.retried
    return "SUCCEEDED" if all_succeeded else str(job.state)


def said_of(job: Any, total: service.Outcome) -> str:
    """Describe the state for a screen reader, without the progress, which changes too often."""
    by = f" by {job.stopped_by}" if job.state == JobState.STOPPED else ""
    ended = job.state == JobState.DONE and not total.waiting
    counts = f": {total.succeeded} succeeded, {total.failed} failed again" if ended else ""
    return f"{job.state}{by}{counts}"


def tag_of(job: Any, total: service.Outcome) -> str:
    """Return the ETag's value, which changes with the job's state, progress and outcome."""
    counts = "-".join(map(str, (job.retried or 0, *total)))
    return f"{job.state}-{counts}-{job.updated_at.timestamp()}"
