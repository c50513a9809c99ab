"""The admin of API keys: list, issue, collect and revoke them."""

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
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.access import accounts_of
from accounts.admin.scope import ScopedAdmin, managed_accounts, person, with_row
from accounts.caller import Caller
from accounts.models import Account, ApiKey, Membership, User
from accounts.services import api_key
from config.admin.dates import at
from config.admin.page import first_time, page, secret_page

MADE, ENDS = at("created_at", "created"), at("expires_at", "expires", empty="never")
LONGEST_LIFE = 3_650  # days
KEY_WARNING = (
    "This is the only time the key is shown. Anyone who has it can read and change its owner's "
    "chatbots, or those of one account if it is bound to one. Keep it on your server."
)
NOT_ISSUABLE = "no staff member with this e-mail address in an account that you manage"


def holders(request: HttpRequest) -> "QuerySet[User]":
    """Return the people whose keys, names and sign-ins the signed-in person may see.

    A superuser sees everyone. Other staff see themselves, and people who belong only to accounts
    that they manage.
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
    """The owner, account, label and lifetime of a new key."""

    email = forms.CharField(
        label="Owner's e-mail",
        widget=UnfoldAdminTextInputWidget,
        help_text="Another person collects the key on its page, because only the owner may see it",
    )
    account = forms.ModelChoiceField(
        Account.objects.none(),
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="The only account in which the key works; if empty, all accounts of its owner",
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
        help_text="Days until the key expires; empty: never",
    )

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.issuer = person(request)
        every = Account.objects.order_by("name", "id")
        managed = (
            every if self.issuer.is_superuser else every.filter(pk__in=managed_accounts(request))
        )
        self.fields["account"].queryset = managed  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Find the owner. A key for another person needs an account that both belong to."""
        given = self.cleaned_data
        account = given.get("account")
        owner = User.objects.find(given.get("email", ""))
        if owner == self.issuer:
            return given | {"user": owner}
        if account is None:
            self.add_error("account", "choose the account in which their key will work")
        elif not (
            owner
            and owner.is_staff
            and accounts_of(Caller(owner.pk)).filter(pk=account.pk).exists()
        ):
            self.add_error("email", NOT_ISSUABLE)
        return given | {"user": owner}


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """Keys are issued and revoked, never changed."""

    list_display = ("prefix", "label", "owner", "account", "state", MADE, "last_used", ENDS)
    list_select_related = ("user", "account")
    search_fields = ("prefix__startswith", "user__email__istartswith")
    search_help_text = "the beginning of a prefix or of the owner's e-mail address"
    fields = readonly_fields = (
        "prefix",
        "label",
        "owner",
        "account",
        "state",
        MADE,
        "last_used",
        ENDS,
        at("revoked_at", "revoked"),
    )
    actions = ("revoke_selected",)
    change_form_outer_before_template = "admin/accounts/api_key_buttons.html"
    empty_text = "No key has been issued yet."

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the person's own keys, keys bound to managed accounts, and their people's keys."""
        bound = Q(account__in=managed_accounts(request))
        return rows.filter(bound | Q(user__in=holders(request)))

    @admin.display(description="owner")
    def owner(self, key: ApiKey) -> str:
        """Show the owner's e-mail."""
        return key.user.email

    @display(
        description="state",
        label={
            "active": "success",
            "revoked": "danger",
            "expired": "warning",
            "waiting": "info",
        },
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
        """Revoke the selected keys, effective immediately."""
        for key in keys:
            self.revoke(request, key)
        messages.success(request, f"{len(keys)} revoked")

    def has_revoke_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Require the change permission: revoking is the only change that a key allows."""
        return bool(super().has_change_permission(request, obj))

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Forbid editing: a key has no form."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletion: revoked keys record who held one."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """Add the routes of the buttons on a key's page."""
        views = {"revoke": self.revoke_view, "collect": self.collect_view}
        buttons = [
            path(
                f"<uuid:object_id>/{name}/",
                self.admin_site.admin_view(require_POST(view)),
                name=f"accounts_apikey_{name}",
            )
            for name, view in views.items()
        ]
        return [*buttons, *super().get_urls()]

    def has_collect_permission(self, request: HttpRequest, obj: ApiKey) -> bool:
        """Show a key's text to its owner only."""
        return obj.user_id == person(request).pk

    @with_row("collect")
    def collect_view(self, request: HttpRequest, key: ApiKey) -> HttpResponse:
        """Generate the text of a key that another person issued, and show it once to its owner."""
        text = api_key.collect(key)
        if text is None:
            messages.error(request, f"{key.prefix} has already been collected or revoked")
            return HttpResponseRedirect(reverse("admin:accounts_apikey_change", args=[key.pk]))
        self.log_change(request, key, "Collected.")
        return self.show(request, key, text)

    @with_row("revoke")
    def revoke_view(self, request: HttpRequest, key: ApiKey) -> HttpResponse:
        """Revoke the key and return to its page."""
        self.revoke(request, key)
        messages.success(request, f"{key.prefix} is revoked")
        return HttpResponseRedirect(reverse("admin:accounts_apikey_change", args=[key.pk]))

    def revoke(self, request: HttpRequest, key: ApiKey) -> None:
        """Revoke a key and log who did it."""
        api_key.revoke(key)
        self.log_change(request, key, "Revoked.")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the form that issues a key, and issue it. A form sent twice issues one key."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = IssueForm(request, request.POST or None, initial={"email": person(request).email})
        if request.method == "POST" and form.is_valid():
            with first_time(request) as first:
                if not first:
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
        """Issue a key. Show the key to its issuer, or let it wait until its owner collects it."""
        owner: User = given.pop("user")
        del given["email"]
        if owner == person(request):
            key, text = api_key.issue(owner, **given)
            self.log_addition(request, key, "Issued.")
            return self.show(request, key, text)
        key = api_key.offer(owner, **given)
        self.log_addition(request, key, f"Issued for {owner.email}.")
        messages.success(request, f"{key.prefix} is waiting for {owner.email} to collect it")
        return HttpResponseRedirect(reverse("admin:accounts_apikey_change", args=[key.pk]))

    def show(self, request: HttpRequest, key: ApiKey, text: str) -> HttpResponse:
        """Show the text of a new key, only once."""
        return secret_page(
            self,
            request,
            title="New API key",
            name="API key",
            secret=text,
            warning=KEY_WARNING,
            back=reverse("admin:accounts_apikey_change", args=[key.pk]),
        )
