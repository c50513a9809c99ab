"""Workers' claims: a token, the worker's name and a lease, in three columns of a claimed row."""

from typing import Any

from django.db.models import Model

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
