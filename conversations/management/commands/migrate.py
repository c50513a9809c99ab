"""Django's `migrate`, which runs only once at a time on the embedded database."""

import fcntl
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate

from config.runtime import state


class Command(migrate.Command):
    """Waits until no other process migrates SQLite's file.

    Two processes that start at the same time would otherwise create the same tables.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate the database."""
        if not settings.EMBEDDED:
            super().handle(*args, **options)
            return
        with state.private_file(settings.STATE_DIR / "migrate.lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file releases the lock
            super().handle(*args, **options)
