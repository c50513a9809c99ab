"""A delivery's page, which shows the exact body sent, and each attempt with its response."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.urls import URLPattern
from django.utils.safestring import SafeString

from accounts.admin.scope import ScopedAdmin, once, person, with_row
from accounts.caller import Caller
from accounts.models import Account
from accounts.permissions import Action
from chatbots.access import open_to
from chatbots.admin.scope import NAMED
from chatbots.models import Chatbot
from config.admin.page import page, row_routes, unless_unchanged
from config.admin.post_only import post_only
from webhooks.admin.advice import advice, say_begun
from webhooks.admin.replay import (
    curl_line,
    indented,
    readable,
    request_headers,
    signature_verdict,
)
from webhooks.admin.times import countdown, precise_time
from webhooks.engine.post import BODY_KEPT
from webhooks.engine.queue import now
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.models.delivery import State
from webhooks.services.retry import retry, retryable_alone

COLORS = {
    State.PENDING.value: "info",
    State.RETRYING.value: "warning",
    State.SUCCESS.value: "success",
    State.FAILED.value: "danger",
}
SECOND = 1_000  # failures that lasted at least this many milliseconds are shown in seconds
SHOWN = 100  # maximum number of attempts on the page; older attempts are not shown


def answer_of(row: Delivery | Attempt) -> str:
    """Describe the response by its code and duration, or say why there was no response."""
    if isinstance(row, Attempt):
        code, ms, error = row.response_code, row.response_ms, row.error
    else:
        code, ms, error = row.last_code, row.last_ms, row.last_error
    if code is not None:
        return f"{code} in {ms:,} ms" if ms is not None else str(code)
    if not error or not ms:
        return error or "none yet"
    lasted = f"{ms} ms" if ms < SECOND else f"{ms / SECOND:.1f} s"
    return f"{error} ({lasted})" if ": " in error else f"{error} after {lasted}"


def gone_chatbots(request: HttpRequest) -> "QuerySet[Chatbot]":
    """Select the erased chatbots of accounts that the user manages."""
    managed = Account.objects.open_to(person(request).pk, Action.MANAGE_ACCOUNT).order_by()
    gone = Chatbot.everything.filter(erased_at__isnull=False, account__in=managed.values("pk"))
    return gone.order_by()


def visible_chatbots(request: HttpRequest) -> "QuerySet[Chatbot]":
    """Select the chatbots whose deliveries the user may see.

    These are the user's chatbots, and the erased chatbots of accounts that the user manages.
    """
    mine = open_to(Caller(person(request).pk)).order_by()
    gone = gone_chatbots(request)
    return Chatbot.everything.filter(
        Q(pk__in=mine.values("pk")) | Q(pk__in=gone.values("pk"))
    ).order_by()


def visible_ids(request: HttpRequest) -> list[UUID]:
    """Return the ids of the chatbots whose deliveries the user may see.

    The ids are read once per request. The same query reads the names of the user's chatbots, which
    are cached because the page also shows them.
    """

    def read() -> list[UUID]:
        columns = ("pk", "name", "erased_at")
        mine = open_to(Caller(person(request).pk)).order_by().values_list(*columns)
        found = list(mine.union(gone_chatbots(request).values_list(*columns)))
        named = {key: name for key, name, erased_at in found if erased_at is None}
        once(request, NAMED, lambda: named)
        return [key for key, *_ in found]

    return once(request, "visible_ids", read)


def is_moving(delivery: Delivery) -> bool:
    """Return whether an attempt is in flight or scheduled."""
    return bool(delivery.claim or delivery.due_at)


def time_left(delivery: Delivery) -> SafeString | str:
    """Return a countdown to the next attempt, or "" if it is in flight or not scheduled."""
    if delivery.due_at is None or delivery.claim:
        return ""
    return countdown(delivery.due_at, now())


def neighbors(delivery: Delivery) -> dict[str, UUID | None]:
    """Return the ids of the next older and next newer delivery of the same chatbot."""
    rows = Delivery.objects.filter(chatbot=delivery.chatbot_id).values_list("pk", flat=True)
    at, key = delivery.created_at, delivery.pk
    older = rows.filter(Q(created_at__lt=at) | Q(pk__lt=key), created_at__lte=at)
    newer = rows.filter(Q(created_at__gt=at) | Q(pk__gt=key), created_at__gte=at)
    return {
        "older": older.order_by("-created_at", "-id").first(),
        "newer": newer.order_by("created_at", "id").first(),
    }


def tag_of(delivery: Delivery) -> str:
    """Return the ETag's value, which changes whenever the delivery changes."""
    claim = delivery.claim.hex if delivery.claim else ""
    due = delivery.due_at.timestamp() if delivery.due_at else ""
    return f"{delivery.updated_at.timestamp()}-{delivery.attempts_count}-{due}-{claim}"


def said_of(delivery: Delivery) -> str:
    """Describe the state for a screen reader."""
    count = delivery.attempts_count
    return f"{delivery.state} after {count} attempt{'' if count == 1 else 's'}"


def history(delivery: Delivery, endpoint: Endpoint | None) -> dict[str, Any]:
    """Return the template context for a delivery's attempts."""
    attempts = list(delivery.attempts.order_by("-started_at", "-id")[:SHOWN])[::-1]
    last = attempts[-1] if attempts else None
    url = last.url if last else endpoint.url if endpoint else ""
    matches, verdict = signature_verdict(delivery, endpoint, last)
    return {
        "attempts": [
            {
                "attempt": attempt,
                "started": precise_time(attempt.started_at),
                "answer": answer_of(attempt),
                "body": readable(attempt.response_body),
            }
            for attempt in attempts
        ],
        "cut_off": BODY_KEPT,
        "last": last,
        "endpoint": endpoint,
        "url": url,
        "color": COLORS[delivery.state],
        "headers": request_headers(endpoint, last),
        "matches": matches,
        "verdict": verdict,
        "advice": advice(delivery.last_code, delivery.last_reason) if last else "",
        "moving": is_moving(delivery),
        "time_left": time_left(delivery),
        "sending": settings.SENDING,
    }


class DeliveryPageAdmin(ScopedAdmin):
    """The page of a delivery, which shows its attempts and has a retry button."""

    def get_urls(self) -> list[URLPattern]:
        """Add the route of the retry button and the route that a script polls for updates."""
        routes = row_routes(self, retry=post_only(self.retry_view), news=self.news_view)
        return [*routes, *super().get_urls()]

    def has_retry_permission(self, request: HttpRequest, obj: Delivery | None = None) -> bool:
        """Require the permission to change deliveries."""
        return person(request).has_perm("webhooks.change_delivery")

    @with_row("retry")
    def retry_view(self, request: HttpRequest, delivery: Delivery) -> HttpResponse:
        """Request one more attempt if the delivery is FAILED, and show its page again."""
        if retry(Delivery.objects.filter(pk=delivery.pk), by=person(request).get_full_name()):
            say_begun(request, "Retry queued")
        else:
            messages.warning(
                request,
                "It cannot be retried: its content was erased"
                if delivery.erased
                else "Only FAILED deliveries can be retried",
            )
        return HttpResponseRedirect(self.url_of("change", delivery))

    @with_row("view")
    def change_view(
        self,
        request: HttpRequest,
        delivery: Delivery,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        """Show the exact body sent, and each attempt with its response."""
        known = self.live_context(request, delivery)
        url, erased = known["url"], delivery.erased
        return page(
            self,
            request,
            "admin/webhooks/delivery.html",
            title=f"{delivery.event} to {delivery.chatbot}",
            body=readable(delivery.body),
            indented=indented(delivery.body),
            curl="" if erased or not url else curl_line(url, delivery.body),
            filters=request.GET.get("_changelist_filters", ""),  # for the link back to the log
            **neighbors(delivery),
            **known,
        )

    def live_context(self, request: HttpRequest, delivery: Delivery) -> dict[str, Any]:
        """Return the template context for the part of the page that the script replaces."""
        endpoint = Endpoint.objects.filter(chatbot=delivery.chatbot_id).first()
        can_retry = (
            self.has_retry_permission(request, delivery)
            and retryable_alone(Delivery.objects.filter(pk=delivery.pk)).exists()
        )
        return {
            "delivery": delivery,
            "tag": tag_of(delivery),
            "can_retry": can_retry,
            "said": said_of(delivery),
            **history(delivery, endpoint),
        }

    def news_view(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        """Return the live part of the page, or 304 if the delivery has not changed.

        If the delivery has not changed, the request makes only one query besides authentication.
        With `part=test`, the response instead contains the test result that the webhook's page
        shows.
        """
        delivery = self.readable_row(request, object_id)
        tag = tag_of(delivery)
        return unless_unchanged(
            request, tag, lambda: self.news(request, delivery, request.GET.get("part", ""))
        )

    def readable_row(self, request: HttpRequest, object_id: UUID) -> Delivery:
        """Read a delivery in one query.

        Raises Http404 if it does not exist or the user is not allowed to see it.
        """
        rows = Delivery.objects.filter(pk=object_id).select_related("chatbot")
        if not person(request).is_superuser:
            rows = rows.filter(chatbot__in=visible_chatbots(request).values("pk"))
        found = rows.first()
        if found is None:
            raise Http404
        return found

    def news(self, request: HttpRequest, delivery: Delivery, part: str) -> HttpResponse:
        """Render the part of the page that the script replaces."""
        if part == "test":
            test = result_of(delivery)
            template, known = "admin/webhooks/test_result.html", {"test": test}
            said = test["said"]
        else:
            template, known = (
                "admin/webhooks/delivery_live.html",
                self.live_context(request, delivery),
            )
            said = said_of(delivery)
        html = render_to_string(template, known, request)
        return JsonResponse({"html": html, "moving": is_moving(delivery), "said": said})


def result_of(delivery: Delivery) -> dict[str, Any]:
    """Return the template context for a test's result, which the webhook's page shows."""
    last = delivery.attempts.last()
    return {
        "delivery": delivery,
        "tag": tag_of(delivery),
        "moving": is_moving(delivery),
        "held": not settings.SENDING,
        "answer": answer_of(delivery),
        "said": f"{delivery.event}: {said_of(delivery)}",
        "advice": advice(delivery.last_code, delivery.last_reason) if last else "",
        "body": readable(last.response_body) if last else "",
    }
