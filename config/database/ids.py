"""Identifiers of rows."""

from datetime import UTC, datetime
from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """Make a version 7 uuid: new rows sit together at the end of their index."""
    return uuid_utils.compat.uuid7()


def first_id_of(moment: datetime) -> UUID:
    """Return the smallest id of rows created at a time: ids begin with their time."""
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62)


def time_of(key: UUID) -> datetime:
    """Return the time at which an id was made."""
    return datetime.fromtimestamp((key.int >> 80) / 1000, UTC)
