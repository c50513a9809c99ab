"""Event kinds are defined in one place, and all forms, commands and documents agree with it."""

import json
import re

import pytest
from django.core.management import load_command_class

from tests.house.source import ROOT
from webhooks import payloads
from webhooks.admin.endpoint_forms import EndpointForm
from webhooks.document import add_events
from webhooks.models import Delivery
from webhooks.models.endpoint import all_events
from webhooks.payloads import KINDS, Context, Event

NAMES = [event.value for event in Event]
CONTEXT = Context(payloads.new_id(), "Porter", "https://bots.example.com/admin/")


@pytest.mark.parametrize("event", Event)
def test_every_kind_has_a_sample_for_the_test_dispatch(event: Event) -> None:
    envelope = json.loads(payloads.body(KINDS[event].sample(CONTEXT)))
    assert (envelope["event"], bool(envelope["data"])) == (event.value, True)


def test_the_documents_the_admin_and_the_command_offer_every_kind() -> None:
    document = {"components": {"schemas": {}}}
    add_events(document)
    assert list(document["webhooks"]) == NAMES
    sections = re.findall(r"^### ([A-Z_]+)$", (ROOT / "docs" / "webhooks.md").read_text(), re.M)
    assert sections == NAMES
    assert [name for name, _ in EndpointForm().fields["events"].choices] == NAMES
    assert [name for name, _ in Delivery._meta.get_field("event").choices] == NAMES
    assert all_events() == NAMES
    parser = load_command_class("webhooks", "retry_deliveries").create_parser("", "")
    assert list(next(one for one in parser._actions if one.dest == "event").choices) == NAMES
