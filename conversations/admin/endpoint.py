"""The admin for chatbots' webhooks, with the same delivery counts as the home page."""

from datetime import UTC
from uuid import UUID

from django.contrib import admin
from django.utils import timezone

from conversations.admin.figures import DEFAULT_SPAN, SPANS, read
from webhooks.admin.endpoint import EndpointAdmin
from webhooks.admin.hours import Hour
from webhooks.models import Endpoint


@admin.register(Endpoint)
class CountedEndpointAdmin(EndpointAdmin):
    """Each chatbot's webhook, with its deliveries per hour."""

    def hours(self, chatbot_id: UUID) -> list[Hour]:
        """Count successful and failed deliveries in each of the last 24 hours, oldest first."""
        figures = read(SPANS[DEFAULT_SPAN], timezone.now().astimezone(UTC), [chatbot_id])
        return [
            Hour(begins_at, ok=counts["success"], failed=counts["failed"])
            for begins_at, counts in figures.buckets.items()
        ]
