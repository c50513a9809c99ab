"""The audit trail: who changed what in the admin, through the API or with a command."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.db.models import DateTimeField, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display

from accounts.admin.scope import AccountRows, ReadOnly, scoped_rows
from accounts.models import Change, User
from config.admin.choices import RowFilter, first_and_selected
from config.admin.dates import TimeRangeFilter, at
from config.admin.keyset import whole_id
from config.audited import AUDITED

IN_A_LIST = 4  # maximum number of changed fields that the list names for each change
NO_VALUE = "(none)"
WORDS = {
    Change.Action.CREATE: "added",
    Change.Action.UPDATE: "changed",
    Change.Action.DELETE: "deleted",
}
admin.site.unregister(Change)  # auditlog's own page shows the changes in every account


def times_of(change: Change) -> set[str]:
    """Return the names of the changed row's datetime columns."""
    model = change.content_type.model_class()
    columns = model._meta.concrete_fields if model else ()
    return {column.name for column in columns if isinstance(column, DateTimeField)}


def value_in_words(value: object, *, is_time: bool) -> str:
    """Format a recorded value for display.

    The audit trail stores a time as text in UTC, without a time zone.
    """
    if value is None:
        return NO_VALUE
    return f"{value} UTC" if is_time else str(value) or "(empty)"


class PersonFilter(RowFilter):
    """Filters by the person who made the change."""

    title = "person"
    parameter_name = "actor"

    def rows(self, request: HttpRequest, model_admin: ModelAdmin) -> "QuerySet[Any]":
        """Return the people that the signed-in person may see."""
        return scoped_rows(model_admin.admin_site, User, request)

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer people by email address, because some names are hidden from managers."""
        people = self.rows(request, model_admin).prefetch_related(None).order_by("email", "id")
        offered = first_and_selected(people.only("email"), whole_id(self.value() or ""))
        return [(str(user.pk), user.email) for user in offered]


class KindFilter(DropdownFilter):
    """Filters by the kind of the changed row."""

    title = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the kinds that the audit log covers."""
        kinds = [(label, str(apps.get_model(label)._meta.verbose_name)) for label in AUDITED]
        return sorted(kinds, key=lambda kind: kind[1].lower())

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the changes to rows of the kind."""
        if self.value() not in AUDITED:
            return queryset
        kind = ContentType.objects.get_for_model(apps.get_model(str(self.value())))
        return queryset.filter(content_type=kind)


@admin.register(Change)
class ChangeAdmin(ReadOnly, AccountRows):
    """Superusers see all changes. Managers see only the changes in their accounts."""

    key = ("-timestamp", "-id")
    id_columns = ("object_pk",)
    search_fields = ("object_pk",)
    search_help_text = "the complete id of a changed row"
    list_display = (at("timestamp", "when"), "who", "action_in_words", "what", "fields_in_words")
    list_select_related = ("actor", "content_type")
    list_filter = (PersonFilter, KindFilter, ("timestamp", TimeRangeFilter))
    fields = readonly_fields = (
        at("timestamp", "when"),
        "who",
        "action_in_words",
        "what",
        "row_id",
        "account",
        "request_id",
        "values",
    )
    empty_value_display = "none"
    empty_text = "Nothing has been changed yet."

    @display(description="who")
    def who(self, change: Change) -> str:
        """Show the person who made the change, if any, and its source, such as "admin"."""
        if change.actor is None:
            return change.via
        return f"{change.actor.get_full_name()}, {change.via}"

    @display(
        description="action",
        label={"added": "success", "changed": "info", "deleted": "danger"},
    )
    def action_in_words(self, change: Change) -> str:
        """Show the action as a colored label."""
        return WORDS.get(change.action, "seen")

    @display(description="what")
    def what(self, change: Change) -> str:
        """Show the kind and the name of the changed row."""
        model = change.content_type.model_class()
        kind = model._meta.verbose_name if model else change.content_type.model
        name = str(change.object_repr)
        return name if name.startswith(str(kind)) else f"{kind} {name}"

    @display(description="row id")
    def row_id(self, change: Change) -> str:
        """Show the id of the changed row."""
        return str(change.object_pk)

    @display(description="request id")
    def request_id(self, change: Change) -> str:
        """Show the request id, which the request's log lines also contain."""
        return str(change.cid or "none")

    @display(description="fields")
    def fields_in_words(self, change: Change) -> str:
        """Show the names of the first changed fields, and how many more there are."""
        names = [name.replace("_", " ") for name in change.changes or {}]
        more = len(names) - IN_A_LIST
        return ", ".join(names[:IN_A_LIST]) + (f" and {more} more" if more > 0 else "")

    @display(description="values")
    def values(self, change: Change) -> SafeString:
        """Show the old and new value of each field."""
        head = "<thead><tr><th>Field</th><th>Before</th><th>After</th></tr></thead>"
        times = times_of(change)
        rows = (
            (name.replace("_", " "), *self.before_and_after(change, values, is_time=name in times))
            for name, values in (change.changes or {}).items()
        )
        body = format_html_join("", '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>', rows)
        return format_html(
            '<div class="wide"><table class="plain values">{}<tbody>{}</tbody></table></div>',
            SafeString(head),
            body,
        )

    def before_and_after(self, change: Change, values: Any, *, is_time: bool) -> tuple[str, str]:
        """Return the old and new value or, for a relation, the rows removed and the rows added."""
        if isinstance(values, dict):
            rows = ", ".join(values.get("objects", []))
            return (NO_VALUE, rows) if values.get("operation") == "add" else (rows, NO_VALUE)
        old, new = (value_in_words(value, is_time=is_time) for value in values)
        return (NO_VALUE if change.action == Change.Action.CREATE else old), new
