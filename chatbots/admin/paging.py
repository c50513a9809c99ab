"""Paginate the lists on a chatbot's page, with one query for the lengths of all lists."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, IntegerField, Model, OuterRef, Subquery
from django.db.models.functions import Coalesce

from chatbots.admin.bounds import BoundedFormSet
from chatbots.models import Chatbot
from config.admin.inline_pages import LENGTHS, PagedFormSet


def read_lengths(chatbot: Chatbot, models: Sequence[type[Model]]) -> None:
    """Count a chatbot's rows of each model in one query, for the formsets on its page."""
    lengths = {}
    for model in models:
        rows: Any = model._default_manager
        own = rows.filter(chatbot=OuterRef("pk")).order_by().values("chatbot")
        length = Subquery(own.annotate(rows=Count("pk")).values("rows"))
        lengths[model._meta.label] = Coalesce(length, 0, output_field=IntegerField())
    names = {f"length_{number}": length for number, length in enumerate(lengths.values())}
    counted = Chatbot.everything.filter(pk=chatbot.pk).annotate(**names).values_list(*names)
    setattr(chatbot, LENGTHS, dict(zip(lengths, counted.get(), strict=True)))


class BoundedPages(BoundedFormSet, PagedFormSet):
    """Paginates a list and limits its length."""
