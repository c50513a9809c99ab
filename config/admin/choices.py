"""Form widgets and filters that offer a bounded number of rows, however many exist."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import ForeignKey, QuerySet
from django.forms import Select
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter
from unfold.widgets import SELECT_CLASSES

from config.admin.keyset import whole_id

OFFERED = 200  # maximum number of rows offered by a select or a filter


def first_and_selected(rows: "QuerySet[Any]", selected: UUID | None) -> list[Any]:
    """Return the first OFFERED rows, and the selected one if `rows` contains it."""
    offered = list(rows[:OFFERED])
    if selected and selected not in {row.pk for row in offered}:
        offered += rows.filter(pk=selected)
    return offered


class RowSelect(AutocompleteSelect):
    """A select for the row that a foreign key refers to.

    The select offers the first rows and the selected one, so it works without scripts. If there may
    be more rows, a script turns the select into a search of all rows that the person can view. The
    form accepts any row of the field's queryset, whether or not the select offers it.
    """

    template_name = "unfold/widgets/select.html"
    refused: "QuerySet[Any] | None" = None  # ids of rows that the form would refuse

    def __init__(self, field: "ForeignKey[Any, Any]") -> None:
        super().__init__(field, admin.site, attrs={"class": " ".join(SELECT_CLASSES)})

    def build_attrs(
        self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Leave out the search attributes. `get_context` adds them if there may be more rows."""
        return Select.build_attrs(self, base_attrs, extra_attrs)

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Make a long select searchable."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        widget = context["widget"]
        [(_, options, _)] = widget["optgroups"]
        if len(options) >= OFFERED:
            widget["attrs"] = super().build_attrs(widget["attrs"])
        return context

    def optgroups(self, name: str, value: Sequence[str], attrs: Any = None) -> list[Any]:
        """Return options for the first rows and the selected one, in a single group."""
        field = self.choices.field
        selected = whole_id(value[0]) if value else None
        choices = [] if field.empty_label is None else [("", field.empty_label)]
        rows = field.queryset
        if self.refused is not None and not selected:
            rows = rows.exclude(pk__in=self.refused)
        for row in first_and_selected(rows, selected):
            choices.append((row.pk, field.label_from_instance(row)))
        options = [
            self.create_option(name, key, label, key == (selected or ""), index)
            for index, (key, label) in enumerate(choices)
        ]
        return [(None, options, 0)]


class SearchSelect(AutocompleteSelect):
    """A filter's select, which a script makes searchable."""

    template_name = "unfold/widgets/select.html"

    def __init__(self, field: "ForeignKey[Any, Any]", choices: Sequence[tuple[str, str]]) -> None:
        classes = " ".join([*SELECT_CLASSES, "unfold-filter-autocomplete"])
        super().__init__(field, admin.site, attrs={"class": classes}, choices=choices)

    def optgroups(self, name: str, value: Sequence[str], attrs: Any = None) -> list[Any]:
        """Return all options that the filter offers, not only the selected one."""
        return Select.optgroups(self, name, list(value), attrs)


class RowFilter(DropdownFilter):
    """Filters a list by a related row, such as a chatbot.

    The filter offers the first rows and the selected one. If there may be more, a script turns the
    select into a search of all rows.
    """

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: ModelAdmin
    ) -> None:
        self.relation = self.find_relation(model)
        super().__init__(request, params, model, model_admin)

    def find_relation(self, model: Any) -> "ForeignKey[Any, Any]":
        """Return a foreign key to the rows that the filter offers. The search needs one."""
        relation: ForeignKey[Any, Any] = model._meta.get_field(self.parameter_name)
        return relation

    def rows(self, request: HttpRequest, model_admin: ModelAdmin) -> "QuerySet[Any]":
        """Return the rows that the person can choose from."""
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the first rows in order of name, and the selected row if it is not among them."""
        rows = self.rows(request, model_admin).select_related(None)
        named = rows.order_by("name", "id").only("name")
        offered = first_and_selected(named, whole_id(self.value() or ""))
        return [(str(row.pk), row.name) for row in offered]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Make a long select searchable."""
        [choice] = super().choices(changelist)
        if len(self.lookup_choices) >= OFFERED:
            field = choice["form"].fields[self.parameter_name]
            field.widget = SearchSelect(self.relation, field.choices)
        yield choice

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Limit the list to rows that belong to the selected row."""
        if not self.value():
            return queryset
        wanted = whole_id(self.value())
        return queryset.filter(**{str(self.parameter_name): wanted}) if wanted else queryset.none()
