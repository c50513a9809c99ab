"""Show lists of related rows on a row's page. Each list has its own pagination."""

import re
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import HiddenInput
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.forms import PaginationInlineFormSet

PAGE_NUMBER = re.compile("[1-9][0-9]{0,5}")
LEFT_OUT = "Deleted while you were editing, and therefore not saved: {} {}."


class Omitted(HiddenInput):
    """A widget that renders nothing. If its field is not submitted, Django uses the parent row."""

    def render(self, *_: Any, **__: Any) -> SafeString:
        """Render nothing."""
        return SafeString()


class PagedFormSet(PaginationInlineFormSet):
    """Shows one page of rows at a time, because a form with all rows could grow without limit.

    A submitted form set gets the rows that its page showed, even if they are now on another page.
    """

    def get_queryset(self) -> Any:
        """Return the rows of the page or, if the form set was submitted, the submitted rows."""
        return self.posted_rows if self.is_bound else super().get_queryset()

    @cached_property
    def posted_rows(self) -> list[Any]:
        """Return the row of each submitted form, or an empty row if the row no longer exists.

        Finds only rows that belong to the parent and that the person may see.
        """
        key: Any = self.model._meta.pk
        ids = []
        for number in range(min(self.initial_form_count(), self.per_page)):
            try:
                given = self.data.get(f"{self.add_prefix(number)}-{key.name}")
                ids.append(key.clean(given, None))  # rejects numbers that are too large to query
            except ValidationError:
                ids.append(None)
        found = self.queryset.in_bulk([each for each in ids if each is not None])
        empty: Any = self.model()
        empty.get_inline_title = "deleted"  # an empty row's own title may need related rows
        return [found.get(each, empty) for each in ids]

    def add_fields(self, form: Any, index: int | None) -> None:
        """Hide each row's parent field, and neither validate nor save deleted rows."""
        super().add_fields(form, index)
        form.fields[self.fk.name].widget = Omitted()
        initial = index is not None and index < self.initial_form_count()
        if self.is_bound and initial and form.instance._state.adding:
            for field in form.fields.values():
                field.disabled = True  # the form counts as unchanged, and may therefore be empty
            form.deleted = form.empty_permitted = True

    def save(self, commit: bool = True) -> Any:
        """Save the rows, and tell the person which ones were left out."""
        if gone := sum(hasattr(form, "deleted") for form in self.forms):
            rows = (
                self.model._meta.verbose_name if gone == 1 else self.model._meta.verbose_name_plural
            )
            messages.warning(self.request, LEFT_OUT.format(gone, rows))
        return super().save(commit)

    def get_page_num(self) -> int:
        """Return the requested page number, or 1 if it is missing or invalid."""
        key = self.get_pagination_key()
        given = self.request.GET.get(key) or self.request.POST.get(key) or ""
        return int(given) if PAGE_NUMBER.fullmatch(given) else 1


class PagedInline(TabularInline):
    """A paginated list of related rows. An empty list shows `empty_text`."""

    formset = PagedFormSet
    template_after = "admin/inline_empty.html"
    empty_text = ""
    per_page = 10
    extra = 0
    tab = True
