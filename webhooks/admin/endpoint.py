"""The list of webhooks in the admin, with each webhook's URL and health."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display

from accounts.admin.scope import ReadOnly
from chatbots.admin.scope import ChatbotRows
from config.admin.dates import at
from webhooks.admin.endpoint_page import EndpointPageAdmin
from webhooks.admin.health import STATES, UNREADABLE, state_of
from webhooks.models import Endpoint


class StateFilter(DropdownFilter):
    """Filters by state. Omits UNREADABLE: no query can tell whether a secret is readable."""

    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Return the states to choose from."""
        return [(state, state) for state in STATES]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the endpoints in the chosen state."""
        return queryset.filter(STATES[self.value()]) if self.value() in STATES else queryset


class EndpointAdmin(ReadOnly, EndpointPageAdmin, ChatbotRows):
    """The webhooks of all chatbots. Each webhook is configured on its own page.

    `conversations.admin` registers a subclass, which adds counts of deliveries.
    """

    list_display = (
        "chatbot",
        "url",
        "state",
        at("failing_since", "failing since", empty="not failing"),
        at("last_success_at", "last success", empty="never"),
    )
    list_select_related = ("chatbot",)
    list_filter = (StateFilter,)
    empty_text = "No webhook is set up. Open a chatbot and choose Webhook."

    @display(
        description="state",
        label={
            "healthy": "success",
            "untried": "info",
            "failing": "danger",
            "off": "warning",
            UNREADABLE.label: "danger",
        },
    )
    def state(self, endpoint: Endpoint) -> str:
        """Show the state as a colored label."""
        return state_of(endpoint)
