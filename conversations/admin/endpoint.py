"""The admin for chatbots' webhooks, with the same delivery counts as the home page."""

from datetime import UTC
from uuid import UUID

from django.contrib import admin
from django.utils import timezone

from conversations.admin.figures import DEFAULT_SPAN, DELIVERIES, SPANS, Chart, read
from webhooks.admin.endpoint import EndpointAdmin
from webhooks.models import Endpoint

ENDED = tuple(one for one in DELIVERIES if one.name in ("success", "failed"))


@admin.register(Endpoint)
class CountedEndpointAdmin(EndpointAdmin):
    """Each chatbot's webhook, with its deliveries per hour."""

    def chart(self, chatbot_id: UUID) -> Chart:
        """Chart the successful and failed deliveries in each of the last 24 hours."""
        figures = read(SPANS[DEFAULT_SPAN], timezone.now().astimezone(UTC), [chatbot_id])
        return Chart("Deliveries per hour", figures, ENDED, stacked=True)
