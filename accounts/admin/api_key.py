"""The admin pages for API keys: list, issue, collect, rotate and revoke them.

If a key is issued for someone else, its text is generated only when that person collects the key.
"""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from unfold.decorators import display

from accounts.admin.api_key_forms import IssueForm, RotateForm
from accounts.admin.scope import ScopedAdmin, managed_accounts, person, with_row
from accounts.models import Account, ApiKey, Membership, User
from accounts.services import api_key
from config.admin.dates import at
from config.admin.page import first_time, page, row_routes
from config.admin.post_only import post_only

MADE, ENDS = at("created_at", "created"), at("expires_at", "expires", empty="never")
KEY_WARNING = (
    "The key is shown only once. Anyone who has it can read and change the chatbots that its owner "
    "can use. A key that is bound to an account gives access only to that account's chatbots. Keep "
    "the key on your server."
)
REVOKED = "Calls with a revoked key are refused immediately. This cannot be undone."
NOT_ROTATABLE = "{} cannot be rotated: it is not a working key, or it has already been replaced"


def holders(request: HttpRequest) -> "QuerySet[User]":
    """Return the people whose keys, names and sign-in times the signed-in person may see.

    Superusers may see everyone. Other staff may see themselves, and active people who are not
    superusers and who belong only to accounts that the signed-in person manages.
    """
    user = person(request)
    if user.is_superuser:
        return User.objects.all()
    people = User.objects.filter(is_active=True)
    managed = managed_accounts(request)
    elsewhere = Exists(
        Membership.objects.filter(user=OuterRef("pk")).exclude(account__in=managed)
    ) | Exists(Account.objects.filter(owner=OuterRef("pk")).exclude(pk__in=managed))
    here = Exists(Membership.objects.filter(user=OuterRef("pk"), account__in=managed)) | Exists(
        Account.objects.filter(owner=OuterRef("pk"), pk__in=managed)
    )
    return people.filter(Q(pk=user.pk) | Q(here, ~Q(elsewhere), is_superuser=False))


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """Keys are issued, rotated and revoked, but never edited."""

    list_display = ("prefix", "label", "owner", "works_in", "state", MADE, "last_used", ENDS)
    list_select_related = ("user", "account")
    search_fields = ("prefix__startswith", "user__email__istartswith")
    search_help_text = "the beginning of a prefix or of the owner's email address"
    fields = (
        "prefix",
        "label",
        "owner",
        "account",
        "state",
        MADE,
        "last_used",
        ENDS,
        at("revoked_at", "revoked", empty="not revoked"),
    )
    readonly_fields = (*fields, "works_in")
    actions = ("revoke_selected",)
    change_form_outer_before_template = "admin/accounts/api_key_buttons.html"
    empty_text = "No key has been issued yet."

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """Show the account as a link if the key is bound to one."""
        if obj is None or obj.account_id:
            return self.fields
        return tuple("works_in" if name == "account" else name for name in self.fields)

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select keys bound to accounts that the person manages, and the keys of `holders`."""
        bound = Q(account__in=managed_accounts(request))
        return rows.filter(bound | Q(user__in=holders(request)))

    @admin.display(description="owner")
    def owner(self, key: ApiKey) -> str:
        """Show the owner's email."""
        return key.user.email

    @admin.display(description="account")
    def works_in(self, key: ApiKey) -> str:
        """Show the account that the key is bound to, or "all" if it is not bound to one."""
        return str(key.account or "all")

    @display(
        description="state",
        label={
            "active": "success",
            "revoked": "danger",
            "expired": "warning",
            "owner inactive": "warning",
            "waiting": "info",
            "replaced": "warning",
        },
    )
    def state(self, key: ApiKey) -> str:
        """Show the key's state as a colored label."""
        return key.state

    @admin.display(description="last used")
    def last_used(self, key: ApiKey) -> str:
        """Show the hour in which the key was last used, in UTC."""
        return f"{key.last_used_at:%Y-%m-%d %H}:00 UTC" if key.last_used_at else "never"

    @admin.action(description="Revoke the selected keys", permissions=["revoke"])
    def revoke_selected(
        self, request: HttpRequest, keys: "QuerySet[ApiKey]"
    ) -> HttpResponse | None:
        """Ask for confirmation, then revoke the selected keys immediately."""
        if "confirmed" in request.POST:
            revoked = sum(self.revoke(request, key) for key in keys)
            messages.success(request, f"{revoked} revoked")
            return None
        chosen = [(ACTION_CHECKBOX_NAME, key.pk) for key in keys]
        return page(
            self,
            request,
            "admin/confirm.html",
            title=f"Revoke {len(keys)} API key{'s' if len(keys) != 1 else ''}?",
            objects=[key.described() for key in keys],
            consequence=REVOKED,
            button="Revoke",
            back=self.url_of("changelist"),
            fields=[("action", "revoke_selected"), ("confirmed", "1"), *chosen],
        )

    def has_revoke_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Require the change permission, because revoking a key modifies it."""
        return bool(super().has_change_permission(request, obj))

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Forbid editing: keys are rotated or revoked instead."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletion: a revoked key remains as a record of who held it."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """Add the routes for the buttons on a key's page."""
        buttons = row_routes(
            self,
            revoke=self.revoke_view,
            rotate=self.rotate_view,
            collect=post_only(self.collect_view),
        )
        return [*buttons, *super().get_urls()]

    def has_collect_permission(self, request: HttpRequest, obj: ApiKey) -> bool:
        """Allow only the key's owner, because only the owner may see a key's text."""
        return obj.user_id == person(request).pk

    @with_row("collect")
    def collect_view(self, request: HttpRequest, key: ApiKey) -> HttpResponse:
        """Generate the text of a key that someone else issued, and show it once to the owner."""
        text = api_key.collect(key)
        if text is None:
            messages.error(request, f"{key.prefix} has already been collected or revoked")
            return HttpResponseRedirect(self.url_of("change", key))
        self.log_change(request, key, "Collected.")
        return self.show(request, key, text)

    @with_row("revoke")
    def revoke_view(self, request: HttpRequest, key: ApiKey) -> HttpResponse:
        """Ask for confirmation, then revoke the key and return to its page."""
        back = self.url_of("change", key)
        if request.method == "POST":
            if self.revoke(request, key):
                messages.success(request, f"{key.prefix} is revoked")
            return HttpResponseRedirect(back)
        if key.revoked_at:
            return HttpResponseRedirect(back)
        return page(
            self,
            request,
            "admin/confirm.html",
            title="Revoke this API key?",
            objects=[key.described()],
            consequence=REVOKED,
            button="Revoke",
            back=back,
        )

    def revoke(self, request: HttpRequest, key: ApiKey) -> bool:
        """Revoke the key and log who did it. Returns False if it was already revoked."""
        revoked = api_key.revoke(key)
        if revoked:
            self.log_change(request, key, "Revoked.")
        return revoked

    @with_row("collect")
    def rotate_view(self, request: HttpRequest, key: ApiKey) -> HttpResponse:
        """Ask for the grace period, then replace the key and show the new key once.

        Only a key's owner can rotate it, because only the owner may see the new key. Submitting the
        form twice replaces the key only once, because a replaced key cannot be rotated.
        """
        form = RotateForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            made = api_key.replace(key, grace_hours=form.cleaned_data["grace"])
            if made:
                new, text = made
                self.log_change(request, key, f"Replaced by {new.prefix}.")
                self.log_addition(request, new, f"Replaces {key.prefix}.")
                return self.show(request, new, text)
        if not ApiKey.objects.replaceable().filter(pk=key.pk).exists():
            messages.error(request, NOT_ROTATABLE.format(key.prefix))
            return HttpResponseRedirect(self.url_of("change", key))
        return page(
            self,
            request,
            "admin/simple_form.html",
            title="Rotate this API key",
            form=form,
            button="Rotate",
            back=self.url_of("change", key),
            intro=f"{key.described()}. A new key with the same owner, account, label and expiry "
            "takes its place and is shown once.",
        )

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the form, then issue the key. Submitting the form twice issues only one key."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        given = {"email": person(request).email, "account": request.GET.get("account")}
        form = IssueForm(request, request.POST or None, initial=given)
        if request.method == "POST" and form.is_valid():
            with first_time(request) as first:
                if not first:
                    return HttpResponseRedirect(self.url_of("changelist"))
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
        """Issue a key. If it is for someone else, that person collects it later."""
        owner: User = given.pop("user")
        del given["email"]
        if owner == person(request):
            key, text = api_key.issue(owner, **given)
            self.log_addition(request, key, "Issued.")
            return self.show(request, key, text)
        key = api_key.offer(owner, **given)
        self.log_addition(request, key, f"Issued for {owner.email}.")
        messages.success(request, f"{key.prefix} is waiting for {owner.email} to collect it")
        return HttpResponseRedirect(self.url_of("change", key))

    def show(self, request: HttpRequest, key: ApiKey, text: str) -> HttpResponse:
        """Show the text of a new key. It cannot be shown again."""
        return page(
            self,
            request,
            "admin/secret.html",
            title="New API key",
            name="API key",
            secret=text,
            warning=KEY_WARNING,
            back=self.url_of("change", key),
        )
