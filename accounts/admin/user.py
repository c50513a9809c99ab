"""The admin pages for people: who can sign in, and what they may do."""

from hashlib import blake2b
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from unfold.forms import AdminPasswordChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from accounts.admin.api_key import holders
from accounts.admin.scope import ScopedAdmin, managed_accounts, person
from accounts.models import Account, User
from accounts.services.user import delete_user
from config.admin.conflict import ConflictForm
from config.admin.dates import at

# Groups have no page, because only a migration sets their permissions.
admin.site.unregister(Group)

SIGNED_IN = at("last_login", "last sign-in", empty="never")
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
        fields = ("email", "name", "is_active", "is_staff", "is_superuser", "groups")

    def mark_of(self, row: Any) -> str:
        """Return a digest of the values, because users have no `updated_at` column."""
        values = [] if row._state.adding else sorted(self.values_of(row).items())
        return blake2b(repr(values).encode(), digest_size=8).hexdigest()


@admin.register(User)
class PersonAdmin(ScopedAdmin, UserAdmin):  # type: ignore[type-arg,misc]  # generic only in stubs
    """Superusers can add and change people. Managers can view the people in their accounts.

    Managers see the email addresses of these people, but names and timestamps only for the people
    that `holders` returns.
    """

    key = ("email", "id")
    form, add_form = PersonChangeForm, PersonCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "name", "is_active", "is_staff", "is_superuser", SIGNED_IN)
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email__istartswith", "name__istartswith")
    search_help_text = "the beginning of an email address or a name"
    empty_text = "There are no people in your accounts yet. Invite people on an account's page."
    ordering = key
    filter_horizontal = ()
    readonly_fields = ("can_sign_in", SIGNED_IN, CREATED)
    fieldsets = (
        (None, {"fields": ("email", "name", "can_sign_in")}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        ("Times", {"fields": (SIGNED_IN, CREATED)}),
    )
    add_fieldsets = (
        (None, {"fields": ("email", "name", "usable_password", "password1", "password2")}),
    )

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the people who belong to accounts that the signed-in person manages."""
        people = User.objects.belonging_to(managed_accounts(request))
        return rows.filter(pk__in=people.values("pk"))

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
        """Show managers only email addresses, because people may also belong to other accounts."""
        return self.list_display if person(request).is_superuser else ("email",)

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Offer filters only to superusers, because managers do not see the filtered columns."""
        return self.list_filter if person(request).is_superuser else ()

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Let managers search by email address, the only column that they see."""
        return self.search_fields if person(request).is_superuser else self.search_fields[:1]

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Show managers the name and timestamps only if `holders` returns the person."""
        if person(request).is_superuser:
            return super().get_fieldsets(request, obj)
        if obj and holders(request).filter(pk=obj.pk).exists():
            return ((None, {"fields": ("email", "name", SIGNED_IN, CREATED)}),)
        return ((None, {"fields": ("email",)}),)

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

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Offer the groups as checkboxes. A migration creates the groups."""
        if db_field.name == "groups":
            options |= {
                "queryset": Group.objects.order_by("name"),
                "widget": UnfoldAdminCheckboxSelectMultipleWidget,
            }
        field = super().formfield_for_manytomany(db_field, request, **options)
        if db_field.name == "groups" and field:
            field.help_text = (
                "Which pages the person can open. “Account admins” is for owners and super admins, "
                "“Agents” for other members. Memberships determine whose data the pages show."
            )
        return field
