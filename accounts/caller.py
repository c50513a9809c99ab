"""The caller of a request: a person, and the account that the key is bound to."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Caller:
    """A person who acts, through the API or in the admin."""

    pk: UUID
    key_account: UUID | None = None  # None: all accounts of the person

    def reaches(self, account_id: UUID) -> bool:
        """Return whether the caller's key works in an account."""
        return self.key_account in (None, account_id)
