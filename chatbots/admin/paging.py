"""Pages of a chatbot's lists within its page, with one query for the lengths of all lists."""

import re
from collections.abc import Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, IntegerField, Model, OuterRef, Subquery
from django.db.models.functions import Coalesce
from unfold.forms import PaginationInlineFormSet

from chatbots.admin.bounds import BoundedFormSet
from chatbots.models import Chatbot

PAGE_NUMBER = re.compile("[1-9][0-9]{0,5}")
LENGTHS = "list_lengths"  # an attribute of the page's chatbot


def read_lengths(chatbot: Chatbot, models: Sequence[type[Model]]) -> None:
    """Count a chatbot's rows of each model in one query, for the formsets of its page."""
    lengths = {}
    for model in models:
        rows: Any = model._default_manager
        own = rows.filter(chatbot=OuterRef("pk")).order_by().values("chatbot")
        length = Subquery(own.annotate(rows=Count("pk")).values("rows"))
        lengths[model._meta.label] = Coalesce(length, 0, output_field=IntegerField())
    names = {f"length_{number}": length for number, length in enumerate(lengths.values())}
    counted = Chatbot.everything.filter(pk=chatbot.pk).annotate(**names).values_list(*names)
    setattr(chatbot, LENGTHS, dict(zip(lengths, counted.get(), strict=True)))


class PagedFormSet(PaginationInlineFormSet):
    """One page of rows at a time: a form with all rows would have no limit."""

    def get_page_num(self) -> int:
        """Return the requested page number, or 1 if it is not a number."""
        key = self.get_pagination_key()
        given = self.request.GET.get(key) or self.request.POST.get(key) or ""
        return int(given) if PAGE_NUMBER.fullmatch(given) else 1

    def get_page(self, paginator: Paginator[Any], page: int) -> Page[Any]:
        """Use the length that was read for all lists of the page together."""
        length = getattr(self.instance, LENGTHS, {}).get(self.model._meta.label)
        if length is not None:
            vars(paginator)["count"] = length  # a cached property
        found: Page[Any] = super().get_page(paginator, page)
        return found


class BoundedPages(BoundedFormSet, PagedFormSet):
    """Pages of a list with a limited number of rows."""
