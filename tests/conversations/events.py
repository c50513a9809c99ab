"""Read the events that a test has caused."""

import json
from typing import Any

from webhooks.models import Delivery


def events(kind: str) -> list[dict[str, Any]]:
    """Return the `data` of every recorded event of this kind, oldest first."""
    rows = Delivery.objects.filter(event=kind).order_by("created_at", "id")
    return [json.loads(bytes(row.body))["data"] for row in rows]
