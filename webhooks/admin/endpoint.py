"""The webhook of a chatbot: its configuration and its health."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from accounts.admin.scope import ReadOnly, managed_accounts, person, scoped_rows, with_row
from chatbots.admin.scope import ChatbotRows
from chatbots.models import Chatbot
from config.admin.dates import at
from config.admin.page import first_time, page, secret_page
from config.database import lengths
from webhooks import sealing
from webhooks.admin.advice import advice, say_begun
from webhooks.models import Endpoint
from webhooks.models.reason import Refusal
from webhooks.payloads import Event, event_choices
from webhooks.services import endpoint as service
from webhooks.signing import MAX_LENGTH, MIN_LENGTH

UNREADABLE = Refusal.SECRET_UNREADABLE
KEEP, MAKE, OWN = "keep", "make", "own"
SHOWN_ONCE = (
    "This is the only time that the secret is shown. Give it to the receiver: each request carries "
    "it, and is signed with it. The previous secret is no longer used; waiting deliveries are "
    "signed with this one."
)


STATES = {
    "failing": Q(is_active=True, failing_since__isnull=False),
    "healthy": Q(is_active=True, failing_since=None, last_success_at__isnull=False),
    "untried": Q(is_active=True, failing_since=None, last_success_at=None),
    "off": Q(is_active=False),
}


def state_of(endpoint: Endpoint) -> str:
    """Return the state to show for a webhook; `off` takes precedence over all others."""
    if not endpoint.is_active:
        return "off"
    try:
        sealing.unseal(endpoint.sealed_secret)
    except sealing.SealBroken:
        return UNREADABLE.label
    if endpoint.failing_since:
        return "failing"
    return "healthy" if endpoint.last_success_at else "untried"


class StateFilter(DropdownFilter):
    """Filters by the receiver's state. A query cannot tell whether a secret can be decrypted."""

    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Return the states to choose from."""
        return [(state, state) for state in STATES]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the endpoints in the chosen state."""
        return queryset.filter(STATES[self.value()]) if self.value() in STATES else queryset


class EndpointForm(forms.Form):
    """The form for a chatbot's one webhook configuration. Specification: Events, 3."""

    url = forms.CharField(label="URL", max_length=lengths.URL, widget=UnfoldAdminTextInputWidget)
    events = forms.MultipleChoiceField(
        choices=event_choices, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )
    is_active = forms.BooleanField(label="Active", required=False, widget=UnfoldBooleanWidget)
    secret_choice = forms.ChoiceField(label="Secret", widget=UnfoldAdminRadioSelectWidget)
    secret = forms.CharField(
        label="Own secret",
        max_length=MAX_LENGTH,
        required=False,
        strip=False,
        # A password widget: its value is not written back into a rejected form.
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=f"At least {MIN_LENGTH} visible characters; only with “Use my own”",
    )

    def __init__(self, *args: Any, endpoint: Endpoint | None, replaceable: bool, **options: Any):
        super().__init__(*args, **options)
        keep = [(KEEP, f"Keep {endpoint.masked_secret}")] if endpoint else []
        new = [(MAKE, "Make one for me"), (OWN, "Use my own")] if replaceable else []
        self.fields["secret_choice"].choices = keep + new  # type: ignore[attr-defined]
        self.fields["secret_choice"].initial = KEEP if endpoint else MAKE
        if not replaceable:
            del self.fields["secret"]
            # A receiver at another URL would get the secret that is kept.
            self.fields["url"].disabled = True

    def clean(self) -> dict[str, Any]:
        """Require a secret if the form's choice is an own one, and reject it otherwise."""
        given = self.cleaned_data
        own, secret = given.get("secret_choice") == OWN, given.get("secret")
        if own and not secret:
            self.add_error("secret", "Enter the secret")
        if secret and not own:
            self.add_error("secret", 'Choose "Use my own", or clear this field')
        return given

    def configuration(self) -> dict[str, Any]:
        """Return the input as arguments of `service.configure`."""
        given = self.cleaned_data
        return {
            "url": given["url"],
            "events": given["events"],
            "is_active": given["is_active"],
            "keep_secret": given["secret_choice"] == KEEP,
            "secret": given["secret"] if given["secret_choice"] == OWN else None,
        }


@admin.register(Endpoint)
class EndpointAdmin(ReadOnly, ChatbotRows):
    """Webhooks by chatbot; each is configured on its own page."""

    list_display = (
        "chatbot",
        "url",
        "state",
        at("failing_since", "failing since"),
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
        """Show the state as a coloured label."""
        return state_of(endpoint)

    def has_configure_permission(self, request: HttpRequest) -> bool:
        """Require the permission to change endpoints."""
        return person(request).has_perm("webhooks.change_endpoint")

    def get_urls(self) -> list[URLPattern]:
        """Add the test, and a chatbot's webhook page, which exists before the webhook does."""
        view = self.admin_site.admin_view
        return [
            path("of/<uuid:chatbot_id>/", view(self.of_view), name="webhooks_endpoint_of"),
            path(
                "of/<uuid:chatbot_id>/test/",
                view(require_POST(self.test_view)),
                name="webhooks_endpoint_test",
            ),
            *super().get_urls(),
        ]

    @with_row("view")
    def change_view(
        self,
        request: HttpRequest,
        endpoint: Endpoint,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        """Redirect to the page of the chatbot's webhook."""
        return HttpResponseRedirect(self.page_url(endpoint.chatbot_id))

    def page_url(self, chatbot_id: UUID) -> str:
        """Return the URL of the page of a chatbot's webhook."""
        return reverse("admin:webhooks_endpoint_of", args=[chatbot_id])

    def chatbot(self, request: HttpRequest, chatbot_id: UUID) -> Chatbot:
        """Return one of the user's chatbots. Raises Http404 or PermissionDenied."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = scoped_rows(self.admin_site, Chatbot, request).select_related("account")
        found: Chatbot | None = rows.filter(pk=chatbot_id).first()
        if found is None:
            raise Http404
        return found

    def of_view(self, request: HttpRequest, chatbot_id: UUID) -> HttpResponse:
        """Show or save the webhook of a chatbot."""
        chatbot = self.chatbot(request, chatbot_id)
        endpoint = Endpoint.objects.filter(chatbot=chatbot).first()
        user = person(request)
        replaceable = (
            endpoint is None or user.is_superuser or chatbot.account_id in managed_accounts(request)
        )
        known = {"url": endpoint.url, "events": endpoint.events} if endpoint else {}
        form = EndpointForm(
            request.POST or None,
            endpoint=endpoint,
            replaceable=replaceable,
            initial={
                "events": [event.value for event in Event],
                "is_active": endpoint.is_active if endpoint else True,
            }
            | known,
        )
        writable = chatbot.account.webhooks_enabled and self.has_configure_permission(request)
        if request.method == "POST":
            if not writable:
                raise PermissionDenied
            if form.is_valid():
                with first_time(request) as first:
                    if not first:
                        return HttpResponseRedirect(self.page_url(chatbot.pk))
                    if done := self.save(request, chatbot, form):
                        return done
        return self.show(request, chatbot, endpoint, form=form, writable=writable)

    def save(
        self, request: HttpRequest, chatbot: Chatbot, form: EndpointForm
    ) -> HttpResponse | None:
        """Save the configuration and show a new secret, only this once.

        Returns None if the service rejects the configuration.
        """
        try:
            endpoint, made = service.configure(chatbot, **form.configuration())
        except service.ConfigurationError as error:
            [name] = error.path or [""]
            form.add_error(name if name in form.fields else None, str(error))
            return None
        secret = made or form.configuration()["secret"]
        self.log_change(request, endpoint, "Replaced the secret." if secret else "Configured.")
        messages.success(request, "Saved")
        if secret is None:
            return HttpResponseRedirect(self.page_url(chatbot.pk))
        return secret_page(
            self,
            request,
            title=f"The new secret of {chatbot}",
            name="Webhook secret",
            secret=secret,
            warning=SHOWN_ONCE,
            back=self.page_url(chatbot.pk),
        )

    def show(
        self,
        request: HttpRequest,
        chatbot: Chatbot,
        endpoint: Endpoint | None,
        *,
        form: EndpointForm,
        writable: bool,
    ) -> HttpResponse:
        """Render the page of a chatbot's webhook."""
        state = state_of(endpoint) if endpoint else ""
        return page(
            self,
            request,
            "admin/webhooks/endpoint.html",
            title=f"Webhook of {chatbot}",
            chatbot=chatbot,
            endpoint=endpoint,
            form=form,
            writable=writable,
            state=state,
            reason="" if chatbot.account.webhooks_enabled else service.NO_ADD_ON,
            unreadable=advice(None, UNREADABLE) if state == UNREADABLE.label else "",
            events=[event.value for event in Event],
        )

    def test_view(self, request: HttpRequest, chatbot_id: UUID) -> HttpResponse:
        """Send a sample event to the webhook. Specification: Events, 4."""
        endpoint = Endpoint.objects.filter(chatbot=self.chatbot(request, chatbot_id)).first()
        if endpoint is None or not self.has_configure_permission(request):
            raise PermissionDenied
        try:
            delivery = service.send_test(
                endpoint, request.POST.get("event", ""), by=person(request).get_full_name()
            )
        except service.ConfigurationError as error:
            messages.error(request, f"Not sent: {error}")
            return HttpResponseRedirect(self.page_url(chatbot_id))
        say_begun(request, "The sample is on its way; reload to see the response")
        return HttpResponseRedirect(reverse("admin:webhooks_delivery_change", args=[delivery.pk]))
