"""Workers' claims: a token, the worker's name and a lease, in three columns of a claimed row."""

from datetime import timedelta
from typing import Any

from django.db.models import F, Model

from config.database.locks import update_unlocked

# Any: column values of many types
NO_CLAIM: dict[str, Any] = {"claim": None, "claimed_by": "", "claimed_until": None}


def claimers(model: type[Model]) -> set[str]:
    """Return the names of the workers that hold claims on a model's rows."""
    held = model._base_manager.filter(claimed_by__gt="")
    return set(held.order_by().values_list("claimed_by", flat=True).distinct())


def take_over(model: type[Model], dead: set[str]) -> None:
    """Release dead workers' claims on a model's rows. A locked row is taken over later."""
    update_unlocked(model._base_manager.filter(claimed_by__in=dead), **NO_CLAIM)


def follow_clock(model: type[Model], jump: timedelta) -> None:
    """Move leases, and due times if the clock was set back, by `jump`.

    After the clock was set forward, due times are left unchanged: rows that are due early do no
    harm, but a row whose due time was just stored by the new clock would be late.
    """
    model._base_manager.filter(due_at__isnull=False).update(
        due_at=F("due_at") + min(jump, timedelta(0)), claimed_until=F("claimed_until") + jump
    )
