"""The admin for chatbots: settings, texts and members."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.admin.scope import manages, once, person
from accounts.models import Account
from accounts.permissions import Action
from chatbots.admin import inlines
from chatbots.admin.erasing import KEPT_IN_THE_LOG, Erasing
from chatbots.admin.faults import show_faults
from chatbots.admin.trial import TrialAdmin
from chatbots.admin.why import WhyAdmin
from chatbots.models import Chatbot
from chatbots.services.chatbot import create_chatbot, erase_chatbot
from config.admin.choices import RowSelect
from config.admin.dates import at
from config.admin.page import page
from config.api.errors import ApiError
from config.database.lengths import SHORT


class CreationForm(forms.Form):
    """The fields of a new chatbot. Specification: Endpoints, Chatbots."""

    account = forms.ModelChoiceField(
        Account.objects.none(), widget=RowSelect(Chatbot._meta.get_field("account"))
    )
    name = forms.CharField(max_length=SHORT, strip=False, widget=UnfoldAdminTextInputWidget)
    description = forms.CharField(max_length=50, strip=False, widget=UnfoldAdminTextInputWidget)


@admin.register(Chatbot)
class ChatbotAdmin(Erasing, TrialAdmin, WhyAdmin):
    """A chatbot with its settings, and links to its webhook, inbox and deliveries."""

    chatbot_path = "pk"
    offered_by = ("name", "id")
    asks_for_name = True
    uncounted = (
        *("deliveries", "appearance", "generalsettings", "leadsettings"),
        *("activity", "token_usages"),
    )
    consequences = (
        "Its conversations are deleted with all their messages. To keep them, switch the chatbot "
        "off instead.",
        KEPT_IN_THE_LOG,
    )
    list_display = ("name", "account", "active", "description", at("created_at", "created"))
    list_select_related = ("account",)
    list_filter = ("is_active",)
    search_fields = ("name__istartswith",)
    search_help_text = "the beginning of a name"
    change_form_outer_before_template = "admin/chatbots/chatbot_links.html"
    empty_text = (
        "There are no chatbots that you can open. Add one on the page of an account, or ask a "
        "manager of the account to add you to one."
    )
    inlines = (
        inlines.GeneralInline,
        inlines.AppearanceInline,
        inlines.LocalizationInline,
        inlines.InstructionInline,
        inlines.PersonaInline,
        inlines.FollowUpInline,
        inlines.LeadSettingsInline,
        inlines.StarterInline,
        inlines.MemberInline,
    )

    class Media:
        """The scripts for the preview, the prompts, the lead form and the "Try it" page."""

        js = (
            "pages/preview.js",
            "pages/reorder.js",
            "pages/followups.js",
            "pages/leadform.js",
            "pages/unsaved.js",
        )

    @display(description="state", label={"active": "success", "off": "danger"})
    def active(self, chatbot: Chatbot) -> str:
        """Show whether the bot is active, as a colored label."""
        return "active" if chatbot.is_active else "off"

    readonly_fields = ("account", "account_name")

    def get_fields(self, request: HttpRequest, obj: Chatbot | None = None) -> Any:
        """Link to the account only if the person may open its page."""
        may_view = person(request).has_perm("accounts.view_account")
        linked = obj is not None and may_view and manages(request, obj.account_id)
        return ("account" if linked else "account_name", "name", "description", "is_active")

    @admin.display(description="account")
    def account_name(self, chatbot: Chatbot) -> str:
        """Show the account's name, without a link."""
        return str(chatbot.account)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Require the model permission, and an account in which the person may create chatbots."""
        allowed = self.may_add(request)
        return allowed and once(request, "may_create", lambda: self.accounts(request).exists())

    def may_add(self, request: HttpRequest) -> bool:
        """Return whether the person has permission to add chatbots. Reads no accounts."""
        return bool(super().has_add_permission(request))

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        """Return the permissions for the app list, without reading accounts on every page."""
        return {
            "add": self.may_add(request),
            "change": self.has_change_permission(request),
            "delete": self.has_delete_permission(request),
            "view": self.has_view_permission(request),
        }

    def erase(self, row: Chatbot, entry: LogEntry) -> None:
        erase_chatbot(row, entry=entry)

    def account_of(self, row: Chatbot) -> UUID:
        """Return the id of the chatbot's account."""
        return row.account_id

    def name_in_trail(self, row: Chatbot) -> str:
        """Return the chatbot's name. Unlike a visitor's name, it may be kept in the admin's log."""
        return str(row)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the form, and create the chatbot with the service that the API uses."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = CreationForm(request.POST or None, initial={"account": request.GET.get("account")})
        form.fields["account"].queryset = self.accounts(request)  # type: ignore[attr-defined]
        if request.method == "POST" and form.is_valid():
            try:
                chatbot = create_chatbot(creator_id=person(request).pk, **form.cleaned_data)
            except ApiError as error:
                show_faults(form, error)
            else:
                self.log_addition(request, chatbot, [{"added": {}}])
                return HttpResponseRedirect(self.url_of("change", chatbot))
        return page(
            self,
            request,
            "admin/simple_form.html",
            title="Add chatbot",
            form=form,
            button="Create",
            intro="A new chatbot works right away with its default settings.",
        )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Fetch the account and its owner with the chatbot, because the page names both."""
        return super().get_queryset(request).select_related("account__owner")

    def accounts(self, request: HttpRequest) -> "QuerySet[Account]":
        """Return the accounts in which the person may create a chatbot."""
        user = person(request)
        if user.is_superuser:
            return Account.objects.order_by("name", "id")
        return Account.objects.open_to(user.pk, Action.CREATE_CHATBOT).order_by("name", "id")
