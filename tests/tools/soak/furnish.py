"""Prepare a new installation with test data: `python -m tests.tools.soak.furnish URL …`.

The environment variables determine the installation. Create the tables, and then create a chatbot
with an endpoint for each URL. Each account has at most two chatbots, and one API key works for all
accounts. A trigger records each delivery whose state changes from SUCCESS to another state. Print
`{"key": …, "chatbots": […]}`.
"""

# ruff: noqa: E402, T201 - Django is set up before models are imported; this command prints JSON

import json
import sys

import django

django.setup()

from django.core.management import call_command
from django.db import connection

from accounts.services import api_key
from tests.factories.accounts import AccountFactory, PlanFactory, UserFactory
from tests.factories.webhooks import EndpointFactory

MANY = 1_000_000  # limit on messages and replies per minute; the soak never reaches it
NOTE = "CREATE TABLE soak_regression (delivery_id text, state text)"
SQLITE = [
    """CREATE TRIGGER soak_success AFTER UPDATE OF state ON webhooks_delivery
    WHEN OLD.state = 'SUCCESS' AND NEW.state <> 'SUCCESS'
    BEGIN INSERT INTO soak_regression VALUES (NEW.id, NEW.state); END"""
]
POSTGRESQL = [
    """CREATE FUNCTION soak_note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO soak_regression VALUES (NEW.id::text, NEW.state); RETURN NEW; END $$""",
    """CREATE TRIGGER soak_success AFTER UPDATE ON webhooks_delivery FOR EACH ROW
    WHEN (OLD.state = 'SUCCESS' AND NEW.state <> 'SUCCESS') EXECUTE FUNCTION soak_note()""",
]


def main() -> None:
    call_command("migrate", verbosity=0, interactive=False)
    with connection.cursor() as cursor:
        for statement in [NOTE, *(POSTGRESQL if connection.vendor == "postgresql" else SQLITE)]:
            cursor.execute(statement)
    owner = UserFactory()
    plan = PlanFactory(name="Soak", messages_per_minute=MANY, ai_replies_per_minute=MANY)
    chatbots = []
    for number, url in enumerate(sys.argv[1:]):
        if number % 2 == 0:
            account = AccountFactory(owner=owner, plan=plan, webhooks_enabled=True)
        endpoint = EndpointFactory(url=url, chatbot__account=account)
        chatbots.append(str(endpoint.chatbot_id))
    print(json.dumps({"key": api_key.issue(owner)[1], "chatbots": chatbots}))


if __name__ == "__main__":
    main()
