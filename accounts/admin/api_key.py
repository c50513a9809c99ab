"""API keys: what works, since when, and who holds it."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.admin.moments import at
from accounts.admin.page import first_time, page, secret_page
from accounts.admin.scope import ScopedAdmin, managed_accounts, person, with_row
from accounts.models import Account, ApiKey, Membership, User
from accounts.services import api_key

MADE, ENDS = at("created_at", "made"), at("expires_at", "ends", empty="never")
LONGEST_LIFE = 3_650  # days
KEY_WARNING = (
    "This is the only time that the key is shown. Whoever holds it can read and change the "
    "chatbots of its owner: keep it on your server."
)


def holders(request: HttpRequest) -> "QuerySet[User]":
    """Keep the people whose keys a person may see, issue and revoke.

    A superuser: everyone. Else oneself, and who is in accounts that one manages and in no other: a
    key opens all accounts of its owner, so a member of someone else's account is not theirs.
    """
    user = person(request)
    people = User.objects.filter(is_active=True)
    if user.is_superuser:
        return people
    managed = managed_accounts(request)
    elsewhere = Exists(
        Membership.objects.filter(user=OuterRef("pk")).exclude(account__in=managed)
    ) | Exists(Account.objects.filter(owner=OuterRef("pk")).exclude(pk__in=managed))
    here = Exists(Membership.objects.filter(user=OuterRef("pk"), account__in=managed)) | Exists(
        Account.objects.filter(owner=OuterRef("pk"), pk__in=managed)
    )
    return people.filter(Q(pk=user.pk) | Q(here, ~Q(elsewhere), is_superuser=False))


class IssueForm(forms.Form):
    """Whose key, what for, and for how long."""

    email = forms.ModelChoiceField(
        User.objects.none(),
        label="Owner's e-mail",
        to_field_name="email",
        widget=UnfoldAdminTextInputWidget,
        error_messages={"invalid_choice": "nobody with this e-mail for whom you may issue a key"},
    )
    label = forms.CharField(
        max_length=100,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="What the key is for, such as the name of the server that holds it",
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=LONGEST_LIFE,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Days until it ends; empty: never",
    )


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """Keys are issued and revoked, never changed."""

    list_display = ("prefix", "label", "user", "state", MADE, "last_used", ENDS)
    list_select_related = ("user",)
    search_fields = ("prefix__startswith", "user__email__istartswith")
    search_help_text = "the beginning of a prefix or of the owner's e-mail"
    fields = readonly_fields = (
        "prefix",
        "label",
        "user",
        "state",
        MADE,
        "last_used",
        ENDS,
        at("revoked_at", "revoked"),
    )
    actions = ("revoke_selected",)
    change_form_outer_before_template = "admin/accounts/api_key_buttons.html"
    empty_text = "No key was issued yet."

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep one's own keys, and those of people who are in one's own accounts alone."""
        return rows.filter(user__in=holders(request))

    @display(
        description="state",
        label={"active": "success", "revoked": "danger", "expired": "warning"},
    )
    def state(self, key: ApiKey) -> str:
        """Show whether the key works, as a word with a colour."""
        return key.state

    @admin.display(description="last used", empty_value="never")
    def last_used(self, key: ApiKey) -> str | None:
        """Show the last use to the hour."""
        return f"{key.last_used_at:%Y-%m-%d %H}:00" if key.last_used_at else None

    @admin.action(description="Revoke the selected keys", permissions=["revoke"])
    def revoke_selected(self, request: HttpRequest, keys: "QuerySet[ApiKey]") -> None:
        """End keys at once."""
        for key in keys:
            self.revoke(request, key)
        messages.success(request, f"{len(keys)} revoked")

    def has_revoke_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Let those end keys who hold the permission to change them, which means just that."""
        return bool(super().has_change_permission(request, obj))

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Offer no form."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keep revoked keys: they say who held one."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """Add the button of a key's page."""
        revoke = path(
            "<uuid:object_id>/revoke/",
            self.admin_site.admin_view(require_POST(self.revoke_view)),
            name="accounts_apikey_revoke",
        )
        return [revoke, *super().get_urls()]

    @with_row("revoke")
    def revoke_view(self, request: HttpRequest, key: ApiKey) -> HttpResponse:
        """End one key."""
        self.revoke(request, key)
        messages.success(request, f"{key.prefix} is revoked")
        return HttpResponseRedirect(reverse("admin:accounts_apikey_change", args=[key.pk]))

    def revoke(self, request: HttpRequest, key: ApiKey) -> None:
        """End a key and note who did."""
        api_key.revoke(key)
        self.log_change(request, key, "Revoked.")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Issue a key and show it, this once."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = IssueForm(request.POST or None, initial={"email": person(request).email})
        form.fields["email"].queryset = holders(request)  # type: ignore[attr-defined]
        if request.method == "POST" and form.is_valid():
            if not first_time(request):
                return HttpResponseRedirect(reverse("admin:accounts_apikey_changelist"))
            return self.issue(request, form.cleaned_data)
        return page(
            self,
            request,
            "admin/simple_form.html",
            title="Issue an API key",
            form=form,
            button="Issue",
            intro=KEY_WARNING,
        )

    def issue(self, request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
        """Make the key."""
        key, text = api_key.issue(given["email"], label=given["label"], days=given["days"])
        self.log_addition(request, key, f"Issued for {key.user.email}.")
        return secret_page(
            self,
            request,
            title="The new API key",
            name="API key",
            secret=text,
            warning=KEY_WARNING,
            back=reverse("admin:accounts_apikey_change", args=[key.pk]),
        )
