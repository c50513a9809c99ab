"""Limit concurrent password hashing. Each hash deliberately takes up to a second of CPU time."""

import threading

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from config.runtime.gate import waiting

AT_ONCE = 2  # maximum number of concurrent hashes in each process

slots = threading.BoundedSemaphore(AT_ONCE)


class PasswordHasher(PBKDF2PasswordHasher):
    """Releases the thread's database connection before waiting for a slot and hashing."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password once a slot is free."""
        with waiting(), slots:
            return super().encode(password, salt, iterations)
