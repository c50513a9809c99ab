"""The page that shows a chatbot's webhook: its configuration and its health."""

from copy import copy
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from accounts.admin.scope import ScopedAdmin, manages, person, scoped_rows, with_row
from chatbots.models import Chatbot
from config.admin.keyset import whole_id
from config.admin.page import first_time, page
from config.admin.post_only import post_only
from webhooks.admin.advice import advice, say_begun
from webhooks.admin.delivery_page import result_of
from webhooks.admin.endpoint_forms import EndpointForm, NewEndpointForm, SecretForm
from webhooks.admin.health import LOOKED_AT, UNREADABLE, response_times, state_of, waiting
from webhooks.models import Delivery, Endpoint
from webhooks.payloads import Event
from webhooks.services import endpoint as service

SHOWN_ONCE = (
    "This is the only time that the secret is shown. Give it to the receiver: each request "
    "contains the secret and is signed with it. A previous secret is no longer used: waiting "
    "deliveries are signed with the new one."
)
REPLACING = (
    "The old secret stops working immediately: the receiver rejects every event until it has the "
    "new secret. Waiting deliveries are signed with the new one."
)
PAUSING = (
    "Nothing is sent while the webhook is paused: new events are dropped, and waiting deliveries "
    "become FAILED at their next attempt. FAILED deliveries can be retried later."
)
SET_UP_MEANWHILE = "Not saved: the webhook was set up while you were filling in the form"
REPLACED_MEANWHILE = "Not replaced: the secret was replaced after you opened this page"
RECENT = timedelta(minutes=10)
SAMPLES = {"Python": "py", "PHP": "php", "Node": "mjs", "Shell": "sh"}


def page_url(chatbot_id: UUID) -> str:
    """Return the URL of a chatbot's webhook page."""
    return reverse("admin:webhooks_endpoint_of", args=[chatbot_id])


@cache
def samples() -> dict[str, str]:
    """Return sample programs that verify a signature, by language."""
    folder = settings.BASE_DIR / "docs" / "samples"
    return {name: (folder / f"verify.{kind}").read_text() for name, kind in SAMPLES.items()}


class EndpointPageAdmin(ScopedAdmin):
    """The page of a chatbot's webhook. The page exists even before the webhook is set up."""

    def get_urls(self) -> list[URLPattern]:
        """Add the routes of the webhook's page and of its buttons."""
        views = {
            "": self.of_view,
            "test": post_only(self.test_view),
            "secret": self.secret_view,
            "pause": self.pause_view,
            "resume": post_only(self.resume_view),
        }
        routes = [
            path(
                f"of/<uuid:chatbot_id>/{name}/" if name else "of/<uuid:chatbot_id>/",
                self.admin_site.admin_view(view),
                name=f"webhooks_endpoint_{name or 'of'}",
            )
            for name, view in views.items()
        ]
        return [*routes, *super().get_urls()]

    @with_row("view")
    def change_view(
        self,
        request: HttpRequest,
        endpoint: Endpoint,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        """Redirect to the page of the chatbot's webhook."""
        return HttpResponseRedirect(page_url(endpoint.chatbot_id))

    def chatbot(self, request: HttpRequest, chatbot_id: UUID) -> Chatbot:
        """Return one of the user's chatbots. Raises Http404 or PermissionDenied."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = scoped_rows(self.admin_site, Chatbot, request).select_related("account")
        found: Chatbot | None = rows.filter(pk=chatbot_id).first()
        if found is None:
            raise Http404
        return found

    def writable_endpoint(self, request: HttpRequest, chatbot_id: UUID) -> Endpoint:
        """Return the webhook that a button changes. Raises Http404 or PermissionDenied."""
        chatbot = self.chatbot(request, chatbot_id)
        endpoint = Endpoint.objects.filter(chatbot=chatbot).first()
        if endpoint is None or not self.is_writable(request, chatbot):
            raise PermissionDenied
        endpoint.chatbot = chatbot
        return endpoint

    def is_writable(self, request: HttpRequest, chatbot: Chatbot) -> bool:
        """Return whether the account has the add-on and the user may configure the webhook."""
        permitted: bool = person(request).has_perm("webhooks.change_endpoint")
        return chatbot.account.webhooks_enabled and permitted

    def manages_secret(self, request: HttpRequest, chatbot: Chatbot) -> bool:
        """Return whether the user may replace the secret and change the URL to which it is sent."""
        return manages(request, chatbot.account_id)

    def of_view(self, request: HttpRequest, chatbot_id: UUID) -> HttpResponse:
        """Show or save the webhook of a chatbot."""
        chatbot, saves = self.chatbot(request, chatbot_id), request.method == "POST"
        if saves and not self.is_writable(request, chatbot):
            raise PermissionDenied
        with transaction.atomic():
            if saves:  # two people may submit the form at the same time
                Chatbot.objects.lock(chatbot.pk)
            endpoint = Endpoint.objects.filter(chatbot=chatbot).first()
            form = self.configuration_form(request, chatbot, endpoint)
            if saves and (done := self.submit(request, chatbot, endpoint, form)):
                return done
        return self.show(request, chatbot, endpoint, form=form)

    def submit(
        self,
        request: HttpRequest,
        chatbot: Chatbot,
        endpoint: Endpoint | None,
        form: EndpointForm,
    ) -> HttpResponse | None:
        """Save a submitted form. Returns None if the form must be shown again with its errors."""
        if endpoint and "secret_choice" in request.POST:  # sent only by the form for a new webhook
            messages.warning(request, SET_UP_MEANWHILE)
            return HttpResponseRedirect(page_url(chatbot.pk))
        if not form.is_valid():
            return None
        with first_time(request) as first:
            if not first:
                return HttpResponseRedirect(page_url(chatbot.pk))
            return self.save(request, chatbot, form)

    def configuration_form(
        self, request: HttpRequest, chatbot: Chatbot, endpoint: Endpoint | None
    ) -> EndpointForm:
        """Build the form that edits the webhook or, if there is none yet, sets one up."""
        if endpoint is None:
            every = [event.value for event in Event]
            return NewEndpointForm(
                request.POST or None, initial={"events": every, "is_active": True}
            )
        form = EndpointForm(request.POST or None, instance=copy(endpoint))
        # Requests to the URL contain the secret, so only users who may replace the secret may
        # change the URL.
        form.fields["url"].disabled = not self.manages_secret(request, chatbot)
        return form

    def save(
        self, request: HttpRequest, chatbot: Chatbot, form: EndpointForm
    ) -> HttpResponse | None:
        """Save the configuration. A new secret is shown in the response, and never again.

        Returns None if the service rejects the configuration.
        """
        given = form.configuration()
        try:
            endpoint, made = service.configure(chatbot, **given, by=person(request).get_full_name())
        except service.ConfigurationError as error:
            [name] = error.path or [""]
            form.add_error(name if name in form.fields else None, str(error))
            return None
        secret = made or given.get("secret")
        self.log_change(request, endpoint, "Set up." if secret else "Configured.")
        messages.success(request, "Saved")
        if secret is None:
            return HttpResponseRedirect(page_url(chatbot.pk))
        return self.show_secret(request, chatbot, secret)

    def show_secret(self, request: HttpRequest, chatbot: Chatbot, secret: str) -> HttpResponse:
        """Show a new secret, which cannot be shown again."""
        return page(
            self,
            request,
            "admin/secret.html",
            title=f"The new secret of {chatbot}",
            name="Webhook secret",
            secret=secret,
            warning=SHOWN_ONCE,
            back=page_url(chatbot.pk),
        )

    def show(
        self, request: HttpRequest, chatbot: Chatbot, endpoint: Endpoint | None, *, form: Any
    ) -> HttpResponse:
        """Render the page of a chatbot's webhook."""
        state = state_of(endpoint) if endpoint else ""
        writable = self.is_writable(request, chatbot)
        return page(
            self,
            request,
            "admin/webhooks/endpoint.html",
            title=f"Webhook of {chatbot}",
            chatbot=chatbot,
            endpoint=endpoint,
            form=form,
            writable=writable,
            replaceable=writable and self.manages_secret(request, chatbot),
            state=state,
            reason="" if chatbot.account.webhooks_enabled else service.NO_ADD_ON,
            unreadable=advice(None, UNREADABLE) if state == UNREADABLE.label else "",
            events=[event.value for event in Event],
            test=self.test_result(request, chatbot),
            samples=samples(),
            **(self.health(endpoint) if endpoint else {}),
        )

    def health(self, endpoint: Endpoint) -> dict[str, Any]:
        """Return the statistics for the last 24 hours, and the number of waiting deliveries."""
        chart = self.chart(endpoint.chatbot_id)
        return {
            "ok": chart.figures.total["success"],
            "failed": chart.figures.total["failed"],
            "waiting": waiting(endpoint),
            "times": response_times(endpoint),
            "looked_at": LOOKED_AT,
            "chart": chart,
        }

    def chart(self, chatbot_id: UUID) -> Any:
        """Chart a chatbot's deliveries in each of the last 24 hours.

        The subclass in `conversations.admin` implements this.
        """
        raise NotImplementedError

    def test_result(self, request: HttpRequest, chatbot: Chatbot) -> dict[str, Any] | None:
        """Return the result of the test that the URL names, or None if there is no such test."""
        wanted = whole_id(request.GET.get("test", ""))
        if wanted is None:
            return None
        delivery = Delivery.objects.filter(pk=wanted, chatbot=chatbot, is_test=True).first()
        return result_of(delivery) if delivery else None

    def secret_view(self, request: HttpRequest, chatbot_id: UUID) -> HttpResponse:
        """Ask for confirmation, then replace the secret and show the new one once.

        Submitting the form twice replaces the secret only once. If the secret was set recently, the
        page says who set it and does not show the form, because the user may have returned here
        with the browser's Back button.
        """
        endpoint = self.writable_endpoint(request, chatbot_id)
        chatbot = endpoint.chatbot
        if not self.manages_secret(request, chatbot):
            raise PermissionDenied
        form = SecretForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            with first_time(request) as first:
                if not first:
                    return HttpResponseRedirect(page_url(chatbot.pk))
                if done := self.replace(request, endpoint, form):
                    return done
        recent = timezone.now() - endpoint.secret_made_at < RECENT
        return page(
            self,
            request,
            "admin/webhooks/replace_secret.html",
            title=f"Replace the secret of {chatbot}",
            endpoint=endpoint,
            chatbot=chatbot,
            form=form,
            warning=REPLACING,
            just_replaced=recent and request.method == "GET" and "again" not in request.GET,
            back=page_url(chatbot.pk),
        )

    def replace(
        self, request: HttpRequest, endpoint: Endpoint, form: SecretForm
    ) -> HttpResponse | None:
        """Replace the secret and show the new one. Returns None if the service rejects it."""
        with transaction.atomic():
            Chatbot.objects.lock(endpoint.chatbot_id)
            seen = request.POST.get("replaces", endpoint.secret_made_at.isoformat())
            current = Endpoint.objects.filter(pk=endpoint.pk).first()
            if current is None or current.secret_made_at.isoformat() != seen:
                messages.warning(request, REPLACED_MEANWHILE)
                return HttpResponseRedirect(request.path)
            by = person(request).get_full_name()
            try:
                secret = service.replace_secret(endpoint, form.own_secret, by=by)
            except service.ConfigurationError as error:
                form.add_error("secret" if error.path else None, str(error))
                return None
        self.log_change(request, endpoint, "Replaced the secret.")
        return self.show_secret(request, endpoint.chatbot, secret)

    def pause_view(self, request: HttpRequest, chatbot_id: UUID) -> HttpResponse:
        """Ask for confirmation, then switch the webhook off."""
        endpoint = self.writable_endpoint(request, chatbot_id)
        if request.method == "POST":
            self.switch(request, endpoint, active=False)
        if request.method == "POST" or not endpoint.is_active:
            return HttpResponseRedirect(page_url(chatbot_id))
        return page(
            self,
            request,
            "admin/confirm.html",
            title=f"Pause the webhook of {endpoint.chatbot}?",
            objects=[endpoint.url],
            consequence=PAUSING,
            button="Pause",
            back=page_url(chatbot_id),
        )

    def resume_view(self, request: HttpRequest, chatbot_id: UUID) -> HttpResponse:
        """Switch the webhook on and return to its page."""
        self.switch(request, self.writable_endpoint(request, chatbot_id), active=True)
        return HttpResponseRedirect(page_url(chatbot_id))

    def switch(self, request: HttpRequest, endpoint: Endpoint, *, active: bool) -> None:
        """Switch the webhook on or off, and log who did it."""
        if endpoint.is_active != active:
            service.switch(endpoint, active=active)
            self.log_change(request, endpoint, "Switched on." if active else "Paused.")
            messages.success(request, "The webhook is on" if active else "The webhook is paused")

    def test_view(self, request: HttpRequest, chatbot_id: UUID) -> HttpResponse:
        """Send a sample event to the webhook. Specification: Events, 4."""
        endpoint = self.writable_endpoint(request, chatbot_id)
        try:
            delivery = service.send_test(
                endpoint, request.POST.get("event", ""), by=person(request).get_full_name()
            )
        except service.ConfigurationError as error:
            messages.error(request, f"Not sent: {error}")
            return HttpResponseRedirect(page_url(chatbot_id))
        say_begun(request, "The sample is on its way; the result will appear under Test")
        return HttpResponseRedirect(f"{page_url(chatbot_id)}?test={delivery.pk}#test")
