"""Create or reuse the demo data."""

from typing import Any

from config.runtime.commands import RecordCommand
from conversations import demo


class Command(RecordCommand):
    help = "Create or reuse demo data. Each run issues new API keys and sets a new admin password."

    def run(self, **options: Any) -> dict[str, Any]:
        """Seed the data. Without `--json`, returns only the URLs, the login and the API keys."""
        record = demo.seed()
        if options["json"]:
            return record
        lines = {
            name: record[name] for name in ("baseUrl", "adminUrl", "adminEmail", "adminPassword")
        }
        for account in record["accounts"]:
            for user in account["users"]:
                lines[f"{account['accountName']} {user['email']} ({user['role']})"] = user["apiKey"]
        return lines
