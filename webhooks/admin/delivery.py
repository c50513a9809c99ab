"""The delivery log: whether each event arrived and, if not, why."""

import json
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from accounts.admin.scope import ReadOnly, managed_accounts, person, with_row
from chatbots.admin.scope import ChatbotFilter, ChatbotRows, open_chatbots
from chatbots.models import Chatbot
from config.admin.dates import TimeRangeFilter, at, time_element
from config.admin.page import page
from webhooks.admin.advice import advice, say_begun
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.models.delivery import State
from webhooks.services.retry import retry, retryable, retryable_alone
from webhooks.signing import headers_of

COLOURS = {
    State.PENDING.value: "info",
    State.RETRYING.value: "warning",
    State.SUCCESS.value: "success",
    State.FAILED.value: "danger",
}
SECOND = 1_000  # ms
TABS = ("FAILED", "RETRYING", "PENDING", "SUCCESS")


def readable(body: bytes | memoryview) -> str:
    """Decode any bytes as UTF-8 for display; invalid ones are replaced."""
    return bytes(body).decode("utf-8", "replace")


def indented(body: bytes | memoryview) -> str:
    """Indent a JSON body for reading; a body that is not JSON is shown as it is."""
    try:
        return json.dumps(json.loads(bytes(body)), indent=2, ensure_ascii=False)
    except ValueError:
        return readable(body)


def answer_of(row: Delivery | Attempt) -> str:
    """Describe the response: its code and duration, or the reason why there is none."""
    if isinstance(row, Attempt):
        code, ms, error = row.response_code, row.response_ms, row.error
    else:
        code, ms, error = row.last_code, row.last_ms, row.last_error
    if code is not None:
        return f"{code} in {ms} ms" if ms is not None else str(code)
    if not error or not ms:
        return error or "-"
    lasted = f"{ms} ms" if ms < SECOND else f"{ms / SECOND:.1f} s"
    return f"{error} ({lasted})" if ": " in error else f"{error} after {lasted}"


def request_headers(endpoint: Endpoint | None, attempt: Attempt | None) -> dict[str, str]:
    """Return the headers of an attempt, with its token masked. Specification: Request headers."""
    token = endpoint.masked_secret if endpoint else "****"
    if endpoint and attempt and attempt.started_at < endpoint.secret_made_at:
        token = "**** (replaced since)"  # noqa: S105 - words for people
    signature = (
        (attempt.signature or "not recorded") if attempt else "computed for the first attempt"
    )
    return headers_of(token=token, signature=signature)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly, ChatbotRows):
    """Every event that was sent or will be sent, newest first."""

    list_display = (
        at("created_at", "created"),
        "shown_event",
        "chatbot",
        "shown_state",
        "attempts_made",
        "last_answer",
        "next_attempt",
    )
    large = ("body",)
    list_select_related = ("chatbot",)
    list_filter = (
        ("event", ChoicesDropdownFilter),
        ("state", ChoicesDropdownFilter),
        "is_test",
        ChatbotFilter,
        ("created_at", TimeRangeFilter),
    )
    list_before_template = "admin/webhooks/delivery_tabs.html"
    id_columns = ("pk", "thread_id")
    search_fields = ("pk",)
    search_help_text = "the complete id of a delivery or a thread"
    actions = ("retry_selected",)
    empty_text = "No events have been sent yet. A chatbot's events are sent when it has a webhook."
    tabs = TABS

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep deliveries of the user's chatbots, and of erased ones in accounts they manage."""
        gone = Chatbot.everything.filter(
            erased_at__isnull=False, account__in=managed_accounts(request)
        )
        mine = [*open_chatbots(request), *gone.values_list("pk", flat=True)]
        return rows.filter(chatbot__in=mine)

    @admin.display(description="event")
    def shown_event(self, delivery: Delivery) -> str:
        """Name the event, and mark a test dispatch."""
        return f"{delivery.event}, test" if delivery.is_test else delivery.event

    @display(description="state", label=COLOURS)
    def shown_state(self, delivery: Delivery) -> str:
        """Show the state as a coloured label."""
        return delivery.state

    @admin.display(description="attempts")
    def attempts_made(self, delivery: Delivery) -> str:
        """Show the attempts made, out of the automatic ones."""
        planned = 1 if delivery.is_test else 1 + len(settings.WEBHOOK_RETRY_DELAYS)
        return f"{delivery.attempts_count} / {planned}"

    @admin.display(description="last answer")
    def last_answer(self, delivery: Delivery) -> str:
        """Show the last response, or why there was none."""
        return answer_of(delivery)

    @admin.display(description="next attempt", empty_value="-")
    def next_attempt(self, delivery: Delivery) -> object:
        """Show when the next attempt is due, or that one is in flight."""
        if delivery.claim:
            return "under way"
        return time_element(delivery.due_at) if delivery.due_at else None

    def has_retry_permission(self, request: HttpRequest, obj: Delivery | None = None) -> bool:
        """Require the permission to change deliveries."""
        return person(request).has_perm("webhooks.change_delivery")

    @admin.action(description="Retry the selected deliveries", permissions=["retry"])
    def retry_selected(self, request: HttpRequest, deliveries: "QuerySet[Delivery]") -> None:
        """Retry the FAILED ones of the selected deliveries and report how many were left out."""
        chosen = len(deliveries.values_list("pk"))
        begun = retry(retryable(deliveries.order_by()), by=person(request).get_full_name())
        if begun:
            say_begun(request, f"{begun} will be tried once more")
        if begun < chosen:
            messages.warning(
                request,
                f"{chosen - begun} left out: only FAILED deliveries can be retried; a test only "
                "on its own page, and an erased delivery not at all",
            )

    def get_urls(self) -> list[URLPattern]:
        """Add the route of the retry button on a delivery's page."""
        button = path(
            "<uuid:object_id>/retry/",
            self.admin_site.admin_view(require_POST(self.retry_view)),
            name="webhooks_delivery_retry",
        )
        return [button, *super().get_urls()]

    @with_row("retry")
    def retry_view(self, request: HttpRequest, delivery: Delivery) -> HttpResponse:
        """Retry the delivery and return to its page."""
        if retry(Delivery.objects.filter(pk=delivery.pk), by=person(request).get_full_name()):
            say_begun(request, "It will be tried once more")
        else:
            messages.warning(
                request,
                "It cannot be retried: its content was erased"
                if delivery.erased
                else "Only FAILED deliveries can be retried",
            )
        return HttpResponseRedirect(reverse("admin:webhooks_delivery_change", args=[delivery.pk]))

    @with_row("view")
    def change_view(
        self,
        request: HttpRequest,
        delivery: Delivery,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        """Show exactly what was sent and received."""
        attempts = list(delivery.attempts.all())
        last = attempts[-1] if attempts else None
        endpoint = Endpoint.objects.filter(chatbot=delivery.chatbot_id).first()
        return page(
            self,
            request,
            "admin/webhooks/delivery.html",
            title=f"{delivery.event} to {delivery.chatbot}",
            delivery=delivery,
            attempts=[(attempt, answer_of(attempt)) for attempt in attempts],
            last=last,
            endpoint=endpoint,
            url=last.url if last else endpoint.url if endpoint else "",
            colour=COLOURS[delivery.state],
            headers=request_headers(endpoint, last),
            body=readable(delivery.body),
            indented=indented(delivery.body),
            answer=readable(last.response_body) if last else "",
            advice=advice(delivery.last_code, delivery.last_reason) if last else "",
            can_retry=self.has_retry_permission(request, delivery)
            and retryable_alone(Delivery.objects.filter(pk=delivery.pk)).exists(),
        )
