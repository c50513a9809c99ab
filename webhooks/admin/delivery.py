"""The delivery log, which shows whether each event arrived and, if not, why."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.views import ChangeList

from accounts.admin.scope import ReadOnly, person
from chatbots.admin.scope import ChatbotFilter, ChatbotRows
from config.admin.dates import TimeRangeFilter, at
from config.admin.export import Exporting
from config.admin.keyset import whole_id
from webhooks.admin.advice import say_begun
from webhooks.admin.delivery_list import DeliveryList
from webhooks.admin.delivery_page import COLORS, DeliveryPageAdmin, answer_of, visible_ids
from webhooks.admin.failures import FailuresAdmin
from webhooks.admin.filters import AccountFilter, CauseFilter, CodeFilter
from webhooks.admin.retry_job import RetryAllAdmin
from webhooks.admin.times import countdown
from webhooks.models import Delivery
from webhooks.services.retry import retry, retryable
from webhooks.services.selection import with_id

HELD_NOW = "held: SENDING=off"


@admin.register(Delivery)
class DeliveryAdmin(
    ReadOnly, RetryAllAdmin, FailuresAdmin, DeliveryPageAdmin, Exporting, ChatbotRows
):
    """Every delivery, in any state, newest first."""

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
        CodeFilter,
        CauseFilter,
        "is_test",
        AccountFilter,
        ChatbotFilter,
        ("created_at", TimeRangeFilter),
    )
    list_before_template = "admin/webhooks/delivery_tabs.html"
    search_fields = ("pk",)
    search_help_text = "the complete id of a delivery, a thread or a message"
    actions = ("retry_selected",)
    export_columns = {
        "id": "pk",
        "createdAt": "created_at",
        "event": "event",
        "isTest": "is_test",
        "chatbotId": "chatbot_id",
        "chatbot": "chatbot__name",
        "threadId": "thread_id",
        "messageId": "message_id",
        "state": "state",
        "attempts": "attempts_count",
        "responseCode": "last_code",
        "responseMs": "last_ms",
        "reason": "last_reason",
        "detail": "last_detail",
        "nextAttemptAt": "due_at",
    }

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the deliveries of the chatbots in `visible_ids`."""
        return rows.filter(chatbot__in=visible_ids(request))

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        """Use DeliveryList, which bounds the cost of a page."""
        return DeliveryList

    @admin.display(description="event")
    def shown_event(self, delivery: Delivery) -> str:
        """Show the event, and mark it if the delivery is a test."""
        return f"{delivery.event}, test" if delivery.is_test else delivery.event

    @display(description="state", label=COLORS)
    def shown_state(self, delivery: Delivery) -> str:
        """Show the state as a colored label."""
        return delivery.state

    @admin.display(description="attempts")
    def attempts_made(self, delivery: Delivery) -> str:
        """Show the number of attempts made and the maximum number of automatic attempts.

        The maximum is left out if manual retries have exceeded it.
        """
        planned = 1 if delivery.is_test else 1 + len(settings.WEBHOOK_RETRY_DELAYS)
        made = delivery.attempts_count
        return f"{made} / {planned}" if made <= planned else str(made)

    @admin.display(description="response")
    def last_answer(self, delivery: Delivery) -> str:
        """Show the last response, or the reason why there was none."""
        return answer_of(delivery)

    # Any: a delivery annotated with `read_at`
    @admin.display(description="next attempt")
    def next_attempt(self, delivery: Any) -> object:
        """Show a countdown to the next attempt, or "under way", "none" or HELD_NOW."""
        if delivery.claim:
            return "under way"
        if delivery.due_at is None:
            return "none"
        return countdown(delivery.due_at, delivery.read_at) if settings.SENDING else HELD_NOW

    @admin.action(description="Retry the selected deliveries", permissions=["retry"])
    def retry_selected(self, request: HttpRequest, deliveries: "QuerySet[Delivery]") -> None:
        """Retry the selected deliveries that are FAILED, and report how many were skipped."""
        chosen = len(deliveries.values_list("pk"))
        begun = retry(retryable(deliveries.order_by()), by=person(request).get_full_name())
        if begun:
            say_begun(request, "Retry queued" if begun == 1 else f"{begun} retries queued")
        if begun < chosen:
            messages.warning(
                request,
                f"{chosen - begun} skipped: only FAILED deliveries can be retried. Tests can be "
                "retried only from their own pages. Erased deliveries cannot be retried",
            )

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> tuple["QuerySet[Any]", bool]:
        """Search by the complete id of a delivery, thread or message. All three are indexed."""
        if not search_term:
            return queryset, False
        wanted = whole_id(search_term)
        if wanted is None:
            return queryset.none(), False
        found = with_id(queryset, wanted).select_related(*self.list_select_related)
        return found.defer(*self.large).order_by(*queryset.query.order_by), False
