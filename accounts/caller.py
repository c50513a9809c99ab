"""The caller of a request: a person, and the account that their API key is bound to, if any."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Caller:
    """A person acting through the API or in the admin."""

    pk: UUID
    key_account: UUID | None = None  # None if the key works in all of the person's accounts

    def reaches(self, account_id: UUID) -> bool:
        """Return whether the caller's key is bound to this account or to no account."""
        return self.key_account in (None, account_id)
