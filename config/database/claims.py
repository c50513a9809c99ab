"""Workers' claims on rows. A claim has three columns: a token, the worker's name and a lease."""

from datetime import timedelta
from typing import Any

from django.db.models import F, Model

from config.database.locks import update_unlocked

# Any: the columns have values of different types
NO_CLAIM: dict[str, Any] = {"claim": None, "claimed_by": "", "claimed_until": None}


def claimers(model: type[Model]) -> set[str]:
    """Return the names of the workers that hold claims on a model's rows."""
    held = model._base_manager.filter(claimed_by__gt="")
    return set(held.order_by().values_list("claimed_by", flat=True).distinct())


def take_over(model: type[Model], dead: set[str]) -> None:
    """Release dead workers' claims on a model's rows. Locked rows are left for a later call."""
    update_unlocked(model._base_manager.filter(claimed_by__in=dead), **NO_CLAIM)


def follow_clock(model: type[Model], jump: timedelta) -> None:
    """Shift leases by `jump` and, if the clock was set back, due times as well.

    If the clock was set forward, due times are left unchanged, because a row that is due too early
    does no harm. If a due time was stored after the clock was set, shifting it forward would make
    the row late.
    """
    model._base_manager.filter(due_at__isnull=False).update(
        due_at=F("due_at") + min(jump, timedelta(0)), claimed_until=F("claimed_until") + jump
    )
