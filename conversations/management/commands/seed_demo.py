"""Create or reuse the demo data."""

from typing import Any

from django.db import transaction

from config.runtime.commands import RecordCommand, Records
from conversations import demo


def summary(record: dict[str, Any]) -> dict[str, Any]:
    """Return the URLs, the login and the API keys."""
    names = ("baseUrl", "adminUrl", "adminEmail", "adminPassword")
    lines = {name: record[name] for name in names}
    for account in record["accounts"]:
        for user in account["users"]:
            lines[f"{account['accountName']} {user['email']} ({user['role']})"] = user["apiKey"]
    return lines


class Command(RecordCommand):
    help = "Create or reuse demo data. Each run issues new API keys and sets a new admin password."

    def run(self, **options: Any) -> Records:
        """Seed the data. Without `--json`, yields only the URLs, the login and the API keys."""
        with transaction.atomic():
            record = demo.seed()
            yield record if options["json"] else summary(record)
