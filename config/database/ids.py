"""Identifiers of rows."""

from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """Make a version 7 uuid: new rows sit together at the end of their index."""
    return uuid_utils.compat.uuid7()
