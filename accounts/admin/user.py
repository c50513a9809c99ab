"""People: who signs in, and with which rights."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from accounts.admin.moments import at
from accounts.admin.scope import ScopedAdmin, managed_accounts
from accounts.models import User

# Its permissions come from a migration and never by hand
admin.site.unregister(Group)

SEEN, MADE = at("last_login", "last sign-in", empty="never"), at("created_at", "made")


class PersonCreationForm(UserCreationForm):
    """A new person, with or without a password."""

    class Meta:
        model = User
        fields = ("email", "name")


class PersonChangeForm(UserChangeForm):
    """A person."""

    class Meta:
        model = User
        fields = "__all__"  # the page's fieldsets choose


@admin.register(User)
class PersonAdmin(ScopedAdmin, UserAdmin):  # type: ignore[type-arg,misc]  # the stubs' own generics
    """Superusers make and change people; an account's managers see their own."""

    key = ("email", "id")
    form, add_form = PersonChangeForm, PersonCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "name", "is_active", "is_staff", "is_superuser", SEEN)
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email__istartswith", "name__istartswith")
    search_help_text = "the beginning of an e-mail or a name"
    ordering = key
    filter_horizontal = ()
    readonly_fields = (SEEN, MADE)
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        ("Times", {"fields": (SEEN, MADE)}),
    )
    add_fieldsets = (
        (None, {"fields": ("email", "name", "usable_password", "password1", "password2")}),
    )

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the people of accounts that the person manages."""
        accounts = managed_accounts(request)
        return rows.filter(
            pk__in=User.objects.filter(
                Q(memberships__account__in=accounts) | Q(owned_accounts__in=accounts)
            ).values("pk")
        )

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Offer the groups of the migration as checkboxes."""
        if db_field.name == "groups":
            options |= {
                "queryset": Group.objects.order_by("name"),
                "widget": UnfoldAdminCheckboxSelectMultipleWidget,
            }
        field = super().formfield_for_manytomany(db_field, request, **options)
        if db_field.name == "groups" and field:
            field.help_text = "What a staff member may open; whose rows, his or her memberships say"
        return field
