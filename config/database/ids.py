"""Row identifiers, and the times that they contain."""

from datetime import UTC, datetime
from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """Generate a version 7 UUID. Such ids ascend, so new rows go to the end of the index."""
    return uuid_utils.compat.uuid7()


def first_id_of(moment: datetime) -> UUID:
    """Return the smallest id that a row created at this time can have.

    An id begins with the time at which it was generated.
    """
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62)


def time_of(key: UUID) -> datetime:
    """Return the time at which an id was generated."""
    return datetime.fromtimestamp((key.int >> 80) / 1000, UTC)
