"""Limit concurrent password hashing. A hash deliberately takes most of a second of CPU time."""

import threading

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from config.database.connections import release_connection

AT_ONCE = 2  # in each process

slots = threading.BoundedSemaphore(AT_ONCE)


class PasswordHasher(PBKDF2PasswordHasher):
    """Holds no database connection while waiting for a slot or hashing."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password once a slot is free."""
        release_connection()
        with slots:
            return super().encode(password, salt, iterations)
