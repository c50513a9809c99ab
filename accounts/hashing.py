"""Hash passwords, a few at a time. A hash keeps a core busy for most of a second, on purpose."""

import threading

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from config.database.connections import release_connection

AT_ONCE = 2  # in each process

slots = threading.BoundedSemaphore(AT_ONCE)


class PasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher, which holds no connection while it waits for a slot and while it hashes."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password."""
        release_connection()
        with slots:
            return super().encode(password, salt, iterations)
