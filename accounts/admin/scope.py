"""Limit every admin page to the rows that the signed-in staff member may see.

Model permissions decide which pages a person can open. This module decides which rows the pages
show. It applies the roles in accounts/permissions.py to whole queries, not row by row.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.contrib.admin import AdminSite, FieldListFilter, ShowFacets, SimpleListFilter
from django.contrib.admin.exceptions import NotRegistered
from django.contrib.admin.utils import get_fields_from_path, unquote
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.db.models import (
    Field,
    ForeignKey,
    JSONField,
    ManyToManyField,
    Model,
    Q,
    QuerySet,
    TextField,
)
from django.forms import ModelChoiceField, ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from accounts.admin.json_field import StrictJson
from accounts.models import Account, User
from accounts.permissions import Action
from config.admin.choices import RowSelect
from config.admin.conflict import SEEN, ConflictForm
from config.admin.keyset import KeysetChangeList, selected_rows, whole_id
from config.admin.lines import TextLines
from config.admin.page import missing_row
from config.audited import AUDITED
from config.database.lengths import SHORT

Kept = TypeVar("Kept")


def once(request: HttpRequest, name: str, read: Callable[[], Kept]) -> Kept:
    """Cache a value on the request rather than on the ModelAdmin, which all threads share."""
    kept = vars(request)
    if name not in kept:
        kept[name] = read()
    value: Kept = kept[name]
    return value


def person(request: HttpRequest) -> User:
    """Return the signed-in user. Every admin page requires people to sign in."""
    assert isinstance(request.user, User)  # for mypy: admin_view ensures this
    return request.user


def accounts_for(request: HttpRequest, action: Action) -> list[UUID]:
    """Return the ids of the accounts in which the person may perform an action.

    The ids are read once per request.
    """
    return once(
        request,
        f"accounts_for {action}",
        lambda: list(
            Account.objects.open_to(person(request).pk, action)
            .order_by()
            .values_list("pk", flat=True)
        ),
    )


def managed_accounts(request: HttpRequest) -> list[UUID]:
    """Return the ids of the accounts that the signed-in person manages."""
    return accounts_for(request, Action.MANAGE_ACCOUNT)


def manages(request: HttpRequest, account_id: UUID) -> bool:
    """Return whether the signed-in person manages an account. Superusers manage every account."""
    return person(request).is_superuser or account_id in managed_accounts(request)


def scoped_rows(site: AdminSite, model: type[Model], request: HttpRequest) -> "QuerySet[Any]":
    """Return the rows of a model that the person may see, or no rows if the model has no page."""
    try:
        return site.get_model_admin(model).get_queryset(request)
    except NotRegistered:
        return model._default_manager.none()


def with_row(
    permission: str,
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Find the row that the URL identifies, and pass it to the view instead of the row's id.

    A row that the person may not see is reported as missing. Raises PermissionDenied if the person
    lacks the named permission. Some views run their own checks instead of using this decorator:
    those of a chatbot's webhook, and those that conversation and delivery pages poll.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def run(
            self: Any, request: HttpRequest, object_id: object, *args: Any, **names: Any
        ) -> HttpResponse:
            row = self.get_object(request, unquote(str(object_id)))
            if row is None:
                return missing_row(self, request, object_id)
            if not getattr(self, f"has_{permission}_permission")(request, row):
                raise PermissionDenied
            return view(self, request, row, *args, **names)

        return run

    return decorate


def declared_lookups(model_admin: ModelAdmin, request: HttpRequest) -> set[str]:
    """Return the query parameters that a list's filters read."""
    names: set[str] = set()
    for declared in model_admin.get_list_filter(request):
        if isinstance(declared, type) and issubclass(declared, SimpleListFilter):
            names.add(str(declared.parameter_name))
            continue
        path, kind = declared if isinstance(declared, tuple) else (declared, FieldListFilter.create)
        field = get_fields_from_path(model_admin.model, path)[-1]
        made = kind(field, request, {}, model_admin.model, model_admin, field_path=path)
        names.update(name for name in made.expected_parameters() if name)
    return names


class ScopedChoices:
    """Limits the choices for a form's relations to rows that the person may see.

    The dropdown for a foreign key shows the selected row and a limited number of other rows, but
    the form accepts any row that the person may see. A many-to-many field shows all such rows.
    """

    admin_site: AdminSite
    formfield_overrides: ClassVar[dict[Any, Any]] = {
        JSONField: {"form_class": StrictJson},
        TextField: {"form_class": TextLines},
    }

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **options: Any
    ) -> "ModelChoiceField[Any] | None":
        """Offer only rows that the person may see."""
        shown = {"widget": RowSelect(db_field), "empty_label": "Select value"}
        return super().formfield_for_foreignkey(  # type: ignore[misc,no-any-return]  # a mixin
            db_field, request, **self.with_choices(db_field, request, shown | options)
        )

    def formfield_for_manytomany(
        self, db_field: "ManyToManyField[Any, Any]", request: HttpRequest, **options: Any
    ) -> "ModelMultipleChoiceField[Any] | None":
        """Offer only rows that the person may see."""
        return super().formfield_for_manytomany(  # type: ignore[misc,no-any-return]  # a mixin
            db_field, request, **self.with_choices(db_field, request, options)
        )

    def with_choices(
        self, field: "Field[Any, Any]", request: HttpRequest, options: dict[str, Any]
    ) -> dict[str, Any]:
        """Add a relation's choices, unless `options` already has them."""
        if "queryset" in options:
            return options
        assert field.related_model  # for mypy
        rows = scoped_rows(self.admin_site, field.related_model, request)
        if self.admin_site.is_registered(field.related_model):
            model_admin: Any = self.admin_site.get_model_admin(field.related_model)  # a ScopedAdmin
            rows = rows.select_related(None).order_by(*model_admin.choice_order)
        return options | {"queryset": rows}


class ScopedAdmin(ScopedChoices, ModelAdmin):
    """Base for admin pages. Lists the rows the person may see, and paginates without counting."""

    form = ConflictForm
    key: tuple[str, ...] = ("-created_at", "-id")
    offered_by: tuple[str, ...] = ()  # the order of the rows in forms; `key` if empty
    id_columns: tuple[str, ...] = ()  # indexed columns that a search compares with a complete id
    large: tuple[str, ...] = ()  # columns that lists do not show; loaded only when needed
    empty_text: str  # shown if an unfiltered list has no rows
    object_history_template = "admin/history.html"
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 25
    list_filter_submit = True
    sortable_by = ()
    warn_unsaved_form = True

    @property
    def choice_order(self) -> tuple[str, ...]:
        """Return the order in which forms offer the rows."""
        return self.offered_by or self.key

    def url_of(self, kind: str, row: Model | None = None) -> str:
        """Return the path of one of the model's pages. The pages of a row need the row."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{kind}"
        return reverse(name, args=[row.pk] if row else [])

    def may_choose(self, request: HttpRequest) -> bool:
        """Return whether the person may search for one of these rows in a form field."""
        return bool(self.has_view_permission(request))

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the rows that the signed-in person may see. Not called for superusers."""
        raise NotImplementedError

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Limit every page to the rows that the person may see."""
        rows: QuerySet[Any] = super().get_queryset(request).defer(*self.large)
        return rows if person(request).is_superuser else self.own(request, rows)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add the hidden field that lets the form detect that someone else has saved the row."""
        found = super().get_fieldsets(request, obj)
        if obj is None or not self.has_change_permission(request, obj):
            return found
        *others, (title, options) = found
        return [*others, (title, {**options, "fields": (*options["fields"], SEEN)})]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        """Validate the form again if another request has stored a conflicting row in the meantime.

        The second validation finds that row and reports it.
        """
        answer: HttpResponse
        try:
            answer = super().changeform_view(request, object_id, form_url, extra_context)
        except IntegrityError:
            answer = super().changeform_view(request, object_id, form_url, extra_context)
        return answer

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Show changes made in the admin, and link to the audit trail for people who may see it."""
        sees_trail = person(request).has_perm("accounts.view_change")
        context = {**(extra_context or {}), "in_trail": sees_trail and self.opts.label in AUDITED}
        answer: HttpResponse = super().history_view(request, object_id, context)
        return answer

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Accept only the parameters of declared filters. Any other lookup is a bad request.

        Django's own rule allows every lookup on every column, including `__regex`.
        """
        return lookup in declared_lookups(self, request) and "\0" not in value

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Order by the pagination key."""
        return self.key

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        """Use keyset pagination."""
        return KeysetChangeList

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Remove Django's bulk deletion, which would load every row that it cascades to."""
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def response_action(self, request: HttpRequest, queryset: "QuerySet[Any]") -> Any:
        """Ignore Django's `select_across`, because only rows on the current page are selectable."""
        return super().response_action(request, selected_rows(queryset, request))

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> tuple["QuerySet[Any]", bool]:
        """Search by a complete id if `id_columns` is set, otherwise by `search_fields`.

        Django would match each word separately against the beginning of a name, so a search for
        "Corner shop" would find nothing.
        """
        text = search_term.strip()[:SHORT]  # SQLite rejects very long patterns
        if not text:
            return queryset, False
        wanted = whole_id(text) if self.id_columns else text
        if wanted is None:
            return queryset.none(), False
        found = Q()
        for lookup in self.id_columns or self.get_search_fields(request):
            found |= Q(**{lookup: wanted})
        return queryset.filter(found), False


class AccountRows(ScopedAdmin):
    """Rows that belong to an account. The account's managers may see them."""

    account_path = "account"

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the rows of accounts that the person manages."""
        return rows.filter(**{f"{self.account_path}__in": managed_accounts(request)})


class SharedRows(ScopedAdmin):
    """Rows that no account owns, such as plans and models.

    Forms may offer these rows to any staff member. Only superusers can change them.
    """

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select all rows, because they belong to no account."""
        return rows


class ReadOnly:
    """Makes a page read-only, because only the service writes its rows."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid additions: only the service creates these rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid changes: only the service changes these rows."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletions: only the service deletes these rows."""
        return False
