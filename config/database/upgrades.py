"""Check that the database's migrations match this version of the service."""

from functools import cache

from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

OURS = frozenset({"accounts", "chatbots", "webhooks", "conversations", "config"})


@cache
def _known() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def missing() -> list[str]:
    """List the migrations that this version needs but the database lacks."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in _known() - applied.keys())


def check_nothing_missing() -> None:
    """Raise CommandError if the database lacks migrations that this version needs."""
    if found := missing():
        raise CommandError(
            f"the database lacks migrations that this version needs ({', '.join(found)}): "
            "run manage.py migrate first"
        )


def unknown() -> list[str]:
    """List the applied migrations of our apps that are missing from this version."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied.keys() - _known() if app in OURS)
