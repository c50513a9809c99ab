"""The audit trail records changes made in the admin, by the API or by a command, but no secrets."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.models import Change, Membership, User
from accounts.services.api_key import issue, replace, revoke
from accounts.services.user import delete_user
from chatbots.models import Chatbot, LeadSettings, LlmModel
from chatbots.services.chatbot import erase_chatbot, update_chatbot
from chatbots.services.llm_model import make_default
from config.audited import AUDITED, LEFT_OUT
from config.runtime.context import Context, acting
from tests.conftest import Api
from tests.contract.operations import CHAT, OPERATIONS, Operation, call, ids_of
from tests.factories.accounts import MembershipFactory, UserFactory
from tests.factories.chatbots import (
    LeadSettingsFactory,
    LlmModelFactory,
    PersonaFactory,
)
from tests.factories.row import in_trail
from tests.factories.staff import signed_in, superuser
from tests.pages import submit
from webhooks.services import endpoint as endpoints

pytestmark = pytest.mark.django_db

# Models without an audit trail, by app: messages, deliveries, counts and the service's own records.
# None means that the models of the app are not checked.
NOT_AUDITED = {
    "accounts": {"Change", "Mail", "StoredAnswer", "Usage"},
    "chatbots": {"Version"},
    "webhooks": None,
    "config": None,
    "conversations": None,
}


@pytest.fixture(autouse=True)
def recorded() -> Iterator[None]:
    with in_trail():
        yield


def snapshot() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the audited columns of all audited rows, by model and id."""
    found = {}
    for label in AUDITED:
        model: Any = apps.get_model(label)
        rows = model._base_manager.values()
        for row in rows:
            left_out = {name for name in row if name in LEFT_OUT}
            found[label, str(row["id"])] = {n: row[n] for n in row if n not in left_out}
    return found


def entries_of(row: Model) -> list[Change]:
    return list(Change.objects.filter(object_pk=str(row.pk)).order_by("timestamp", "id"))


def test_every_model_is_audited_or_left_out_on_purpose() -> None:
    for app, left_out in NOT_AUDITED.items():
        known = {model.__name__ for model in apps.get_app_config(app).get_models()}
        audited = {label.partition(".")[2] for label in AUDITED if label.startswith(f"{app}.")}
        assert left_out is None or known - audited == left_out, app


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_the_trail_names_the_rows_that_an_operation_changes_and_its_caller(
    api: Api, chatbot: Chatbot, operation: Operation
) -> None:
    ids = ids_of(chatbot)
    LeadSettings.objects.update(customer_name_take=False)  # so that setting it to true is a change
    Change.objects.all().delete()
    before = snapshot()
    assert call(api, operation, ids).status_code == 200
    after = snapshot()
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    created_with_chatbot = {"Appearance", "GeneralSettings", "Localization"}
    wanted = {key for key in changed if operation.path.endswith("create-chatbot") is False}
    wanted |= {key for key in changed if key[0].partition(".")[2] not in created_with_chatbot}
    # Reads change nothing. Conversations have no audit trail.
    assert bool(wanted) is not (operation.method == "GET" or operation.path.startswith(CHAT))
    recorded = set(Change.objects.values_list("object_pk", flat=True))
    assert {key for _, key in wanted} == recorded
    for change in Change.objects.all():
        assert change.actor_id == chatbot.account.owner_id
        assert change.via.startswith("API key cbk_")
        assert change.account_id == chatbot.account_id
        assert change.cid


def test_a_change_has_the_old_and_new_value_and_saving_the_same_values_is_none(
    chatbot: Chatbot,
) -> None:
    name = chatbot.name
    with acting(Context(person=chatbot.account.owner_id, via="API key cbk_x")):
        update_chatbot(chatbot.pk, {"name": "Shop", "description": chatbot.description})
    *_, change = before = entries_of(chatbot)
    assert (change.changes, change.object_repr) == ({"name": [name, "Shop"]}, "Shop")
    update_chatbot(chatbot.pk, {"name": "Shop", "is_active": chatbot.is_active})
    assert entries_of(chatbot) == before


def test_a_change_on_a_page_names_the_person(chatbot: Chatbot) -> None:
    owner = chatbot.account.owner
    client = signed_in(owner)
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    submit(client, address, **{"appearance-0-tooltip": "Ask us"})
    change = entries_of(chatbot.appearance)[-1]
    assert change.changes == {"tooltip": ["", "Ask us"]}
    assert (change.actor, change.via, change.account) == (owner, "admin", chatbot.account)


def test_a_change_by_a_command_names_the_command(chatbot: Chatbot) -> None:
    key, _ = issue(chatbot.account.owner, account=chatbot.account)
    call_command("revoke_api_key", key.prefix)
    change = entries_of(key)[-1]
    assert (change.actor, change.via) == (None, "command revoke_api_key")
    assert list(change.changes) == ["revoked_at"]
    assert change.account == chatbot.account


def test_changes_without_signals_are_recorded(chatbot: Chatbot, default_model: LlmModel) -> None:
    other = LlmModelFactory()
    make_default(other)
    assert entries_of(default_model)[-1].changes == {"is_default": ["True", "False"]}
    assert entries_of(other)[-1].changes == {"is_default": ["False", "True"]}
    key, _ = issue(chatbot.account.owner)
    replaced = replace(key, grace_hours=1)
    assert replaced
    new, _ = replaced
    assert {"replaced_at", "expires_at"} == set(entries_of(key)[-1].changes)
    assert entries_of(new)
    revoke(new)
    revoke(new)  # no effect
    assert [list(e.changes) for e in entries_of(new)][1:] == [["revoked_at"]]
    erase_chatbot(chatbot)
    erase_chatbot(chatbot)
    assert [e.action for e in entries_of(chatbot)].count(Change.Action.DELETE) == 1


def test_no_secret_and_no_email_address_is_recorded(chatbot: Chatbot) -> None:
    user = UserFactory(name="", email="kim@zebra.example")
    user.set_password("zebra-password")
    user.save()
    MembershipFactory(account=chatbot.account, user=user).delete()
    key, text = issue(user, label=f"a label with {'cbk_12345678_' + 'z' * 43}")
    endpoint, _ = endpoints.configure(
        chatbot, url="https://example.com/hook", secret="zebra-secret-0123456789"
    )
    endpoints.replace_secret(endpoint, "zebra-secret-9876543210", by=user.get_full_name())
    LeadSettingsFactory(chatbot=chatbot, lead_notification_email=["ann@zebra.example"])
    key.refresh_from_db()
    recorded = json.dumps(list(Change.objects.values("object_repr", "changes", "via")))
    for hidden in (
        *("zebra", "0123456789", "9876543210", text, key.digest, user.password, "z" * 43),
        endpoint.sealed_secret,
    ):
        assert str(hidden) not in recorded
    assert "secret_made_at" in recorded


def test_a_change_outlives_the_person_who_made_it(chatbot: Chatbot) -> None:
    user = UserFactory(name="Kim")
    with acting(Context(person=user.pk, via="admin")):
        update_chatbot(chatbot.pk, {"name": "Shop"})
    delete_user(user)
    change = entries_of(chatbot)[-1]
    assert change.actor is not None
    assert change.actor.get_full_name() == "Kim"
    User.objects.filter(pk=user.pk).delete()
    change.refresh_from_db()
    assert (change.actor, change.via) == (None, "admin")


def test_a_failed_change_leaves_no_entry(api: Api, chatbot: Chatbot) -> None:
    Chatbot.objects.create(account=chatbot.account, name="taken")
    Change.objects.all().delete()
    here = f"/v1/chatbots/account/{chatbot.account_id}/chatbot/{chatbot.pk}"
    assert api.patch(here, {"name": "taken"}).status_code == 400
    assert not Change.objects.exists()


def test_members_see_no_trail_and_managers_see_that_of_their_account(chatbot: Chatbot) -> None:
    foreign = PersonaFactory(title="foreign words")
    PersonaFactory(chatbot=chatbot, title="own words")
    address = reverse("admin:accounts_change_changelist")
    page = signed_in(chatbot.account.owner).get(address).content.decode()
    assert ("own words" in page, "foreign words" in page) == (True, False)
    everything = signed_in(superuser()).get(address).content.decode()
    assert "own words" in everything
    assert "foreign words" in everything
    member = UserFactory()
    Membership.objects.create(account=chatbot.account, user=member)
    assert signed_in(member).get(address).status_code == 403
    entry = reverse("admin:accounts_change_change", args=[entries_of(foreign)[0].pk])
    owner: Client = signed_in(chatbot.account.owner)
    missing = owner.get(entry)
    assert (missing.status_code, missing["Location"]) == (302, "/admin/")
    assert "foreign words" in signed_in(superuser()).get(entry).content.decode()
