"""Define the base class of all factories. It writes audit trail entries only inside in_trail()."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from auditlog.context import disable_auditlog
from django.db.models import Model
from factory.django import DjangoModelFactory

recorded = ContextVar("recorded", default=False)


@contextmanager
def in_trail() -> Iterator[None]:
    """Write audit trail entries for the rows that factories create within the block."""
    token = recorded.set(True)
    try:
        yield
    finally:
        recorded.reset(token)


def out_of_trail() -> AbstractContextManager[None]:
    """Suppress audit trail entries within the block, except inside in_trail()."""
    return nullcontext() if recorded.get() else disable_auditlog()


class RowFactory(DjangoModelFactory):
    """Creates rows without audit trail entries, which would double the time needed for each row."""

    class Meta:
        abstract = True

    @classmethod
    def _create(cls, model_class: type[Model], *args: Any, **fields: Any) -> Any:
        with out_of_trail():
            return super()._create(model_class, *args, **fields)
