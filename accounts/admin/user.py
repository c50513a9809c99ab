"""The admin pages for people: who can sign in, and what they may do."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from unfold.forms import AdminPasswordChangeForm, UserCreationForm

from accounts.admin.api_key import holders
from accounts.admin.membership import HIDDEN
from accounts.admin.scope import ScopedAdmin, managed_accounts, person
from accounts.models import Account, Membership, User
from accounts.permissions import Role
from accounts.services.user import delete_user
from config.admin.conflict import ConflictForm
from config.admin.dates import at, time_element

# Groups have no page, because roles in accounts take their place.
admin.site.unregister(Group)

ROLES = 3  # maximum number of accounts that a list names for each person
CREATED = at("created_at", "created")


class PersonCreationForm(UserCreationForm):
    """The form for a new person, with or without a password."""

    usable_password = UserCreationForm.create_usable_password_field(
        "If disabled, the person has no password and cannot sign in to the admin. They can still "
        "use API keys."
    )

    class Meta:
        model = User
        fields = ("email", "name")


class PersonChangeForm(ConflictForm):
    """The form for a person. Unlike Django's form, it does not summarize the password hash."""

    class Meta:
        model = User
        fields = ("email", "name", "is_active", "is_superuser")

    def mark_of(self, row: Any) -> str:
        """Return a digest of the values, because users have no `updated_at` column."""
        values = [] if row._state.adding else sorted(self.values_of(row).items())
        return blake2b(repr(values).encode(), digest_size=8).hexdigest()


@admin.register(User)
class PersonAdmin(ScopedAdmin, UserAdmin):  # type: ignore[type-arg,misc]  # generic only in stubs
    """Superusers can add and change people. Managers can view the people in their accounts.

    Managers see the email addresses and roles of these people, but names and timestamps only for
    the people that `holders` returns.
    """

    key = ("email", "id")
    form, add_form = PersonChangeForm, PersonCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "shown_name", "roles", "last_sign_in", "is_active", "is_superuser")
    list_filter = ("is_active", "is_superuser")
    list_before_template = "admin/accounts/people_head.html"
    search_fields = ("email__istartswith", "name__istartswith")
    search_help_text = "the beginning of an email address or a name"
    empty_text = "There are no people in your accounts yet. Invite somebody."
    ordering = key
    filter_horizontal = ()
    readonly_fields = ("email_confirmed", "can_sign_in", "roles", "last_sign_in", CREATED)
    fieldsets = (
        (None, {"fields": ("email", "email_confirmed", "name", "can_sign_in")}),
        ("Rights", {"fields": ("roles", "is_active", "is_superuser")}),
        ("Times", {"fields": ("last_sign_in", CREATED)}),
    )
    add_fieldsets = (
        (None, {"fields": ("email", "name", "usable_password", "password1", "password2")}),
    )

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the people who belong to accounts that the signed-in person manages."""
        people = User.objects.belonging_to(managed_accounts(request))
        return rows.filter(pk__in=people.values("pk"))

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Read each person's roles, for managers only those in the accounts that they manage."""
        members = Membership.objects.select_related("account").order_by("account__name", "pk")
        owned: QuerySet[Account] = Account.objects.order_by("name", "pk")
        if not person(request).is_superuser:
            members = members.filter(account__in=managed_accounts(request))
            owned = owned.filter(pk__in=managed_accounts(request))
        rows: QuerySet[Any] = super().get_queryset(request)
        known: QuerySet[Any] = rows.annotate(
            known=Exists(holders(request).filter(pk=OuterRef("pk")))
        )
        return known.prefetch_related(
            Prefetch("memberships", members[: ROLES + 1], to_attr="joined"),
            Prefetch("owned_accounts", owned[: ROLES + 1], to_attr="owned"),
        )

    @admin.display(description="name")
    def shown_name(self, user: Any) -> str:
        """Show the name, unless the person also belongs to accounts that others manage."""
        return user.name if user.known else HIDDEN

    @admin.display(description="role")
    def roles(self, user: Any) -> str:
        """Show the person's roles, each with its account."""
        held: Iterable[tuple[str, Account]] = [
            *((Role.OWNER, account) for account in user.owned),
            *((one.role, one.account) for one in user.joined),
        ]
        words = [f"{role} of {account}" for role, account in held]
        return ", ".join(words[:ROLES]) + (" …" if len(words) > ROLES else "") or "none"

    @admin.display(description="last sign-in")
    def last_sign_in(self, user: Any) -> str:
        """Show when the person last signed in to the admin."""
        if not user.known:
            return HIDDEN
        return time_element(user.last_login) if user.last_login else "never"

    @admin.display(description="password")
    def can_sign_in(self, user: User) -> str:
        """Show whether the person has a password, with a link to the page that sets one."""
        has_one = user.has_usable_password()
        return format_html(
            '{} <a class="text-primary-600" href="{}">{}</a>',
            "set:" if has_one else "not set:",
            reverse("admin:auth_user_password_change", args=[user.pk]),
            "change it" if has_one else "set one",
        )

    def get_list_display(self, request: HttpRequest) -> Any:
        """Show the switches only to superusers, who can change them."""
        return self.list_display if person(request).is_superuser else self.list_display[:4]

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Offer filters only to superusers, because managers do not see the filtered columns."""
        return self.list_filter if person(request).is_superuser else ()

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Let managers search by email address. Names may be hidden from them."""
        return self.search_fields if person(request).is_superuser else self.search_fields[:1]

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Show managers the name and timestamps only if `holders` returns the person."""
        if person(request).is_superuser:
            return super().get_fieldsets(request, obj)
        if obj and holders(request).filter(pk=obj.pk).exists():
            return ((None, {"fields": ("email", "name", "roles", "last_sign_in", CREATED)}),)
        return ((None, {"fields": ("email", "roles")}),)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Show the history only if the person may see the user's name and timestamps."""
        shown = self.get_object(request, unquote(object_id))
        if shown and not holders(request).filter(pk=shown.pk).exists():
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List what will be deleted. A person who owns accounts cannot be deleted."""
        people = [f"{user.email}: access, memberships, keys and email address" for user in objs]
        owned = Account.objects.filter(owner__in=objs)
        return people, {"people": len(people)}, set(), [f"account {each}" for each in owned]

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """Delete a person, but keep the audit trail entries that refer to them."""
        delete_user(obj)
