"""Lists of related rows on a row's page, each list with its own pagination."""

import re
from typing import Any

from django.core.paginator import Page, Paginator
from unfold.admin import TabularInline
from unfold.forms import PaginationInlineFormSet

PAGE_NUMBER = re.compile("[1-9][0-9]{0,5}")
# The attribute of the edited object that holds the lengths of all lists on its page. It is set only
# if one query has read the lengths together.
LENGTHS = "list_lengths"


class PagedFormSet(PaginationInlineFormSet):
    """Shows one page of rows at a time, because a form with all rows could grow without limit."""

    def get_page_num(self) -> int:
        """Return the requested page number, or 1 if it is missing or invalid."""
        key = self.get_pagination_key()
        given = self.request.GET.get(key) or self.request.POST.get(key) or ""
        return int(given) if PAGE_NUMBER.fullmatch(given) else 1

    def get_page(self, paginator: Paginator[Any], page: int) -> Page[Any]:
        """Return a page, without a count query if the lengths of all lists were read together."""
        length = getattr(self.instance, LENGTHS, {}).get(self.model._meta.label)
        if length is not None:
            vars(paginator)["count"] = length  # a cached property
        found: Page[Any] = super().get_page(paginator, page)
        return found


class PagedInline(TabularInline):
    """A paginated list of related rows. An empty list shows `empty_text`."""

    formset = PagedFormSet
    template_after = "admin/inline_empty.html"
    empty_text = ""
    per_page = 10
    extra = 0
    tab = True
