"""Saved views: a tab with filters under a name, for one person or for an account."""

from typing import Any

from django.test import Client
from django.urls import reverse

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import SavedView
from tests.conversations.admin.test_assignment import sam  # noqa: F401 - a fixture
from tests.conversations.admin.test_inbox import INBOX, talk, titles
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in

VIEWS = reverse("admin:conversations_thread_views")


def save(client: Client, name: str, query: str, **given: Any) -> Any:
    return client.post(VIEWS, {"name": name, "query": query, **given}, follow=True)


def links(client: Client) -> dict[str, str]:
    shown = client.get(INBOX).context["cl"].saved
    return {view["row"].name: view["url"] for view in shown}


def test_a_saved_view_shows_the_same_rows_again(client: Client, chatbot: Chatbot) -> None:
    talk(chatbot, "mine", tags=["billing"], resolved=True)
    talk(chatbot, "other", resolved=True)
    page = save(client, "Billing", "view=resolved&tag=billing&after=x&password=y")
    assert "View “Billing” saved" in page.content.decode()
    [saved] = page.context["cl"].saved
    assert (saved["url"], saved["active"]) == ("?tag=billing&view=resolved", True)
    assert titles(client, links(client)["Billing"]) == ["mine"]
    save(client, "Billing", "view=open")
    assert links(client) == {"Billing": "?view=open"}, "the same name replaces the view"
    assert "Not saved" in save(client, " ", "view=open").content.decode()


def test_a_view_is_shown_to_its_owner_or_to_the_members_of_its_account(
    client: Client,
    chatbot: Chatbot,
    sam: User,  # noqa: F811 - the fixture
) -> None:
    stranger = signed_in(ChatbotFactory().account.owner)
    save(client, "mine", "view=mine")
    save(client, "ours", "view=open", account=chatbot.account_id)
    save(stranger, "intruder", "view=open", account=chatbot.account_id)
    assert set(links(client)) == {"mine", "ours"}
    assert set(links(signed_in(sam))) == {"ours"}
    assert set(links(stranger)) == set()
    ours = SavedView.objects.get(name="ours")
    for other in (signed_in(sam), stranger):
        other.post(VIEWS, {"remove": ours.pk})
    assert SavedView.objects.filter(pk=ours.pk).exists()
    client.post(VIEWS, {"remove": ours.pk})
    assert set(links(client)) == {"mine"}


def test_a_manager_can_delete_the_views_that_colleagues_saved_for_the_account(
    client: Client,
    chatbot: Chatbot,
    sam: User,  # noqa: F811 - the fixture
) -> None:
    save(signed_in(sam), "sam's", "view=open", account=chatbot.account_id)
    save(signed_in(sam), "private", "view=open")
    page = client.get(INBOX).content.decode()
    assert "Delete the view sam&#x27;s" in page
    for view in SavedView.objects.all():
        client.post(VIEWS, {"remove": view.pk})
    assert set(links(signed_in(sam))) == {"private"}


def test_a_person_can_save_a_limited_number_of_views(
    client: Client,
    chatbot: Chatbot,
    sam: User,  # noqa: F811 - the fixture
) -> None:
    shared = {"owner": sam, "account": chatbot.account, "query": "view=open"}
    SavedView.objects.bulk_create(SavedView(name=f"{n:03}", **shared) for n in range(200))
    for n in range(51):
        page = save(client, f"z{n}", "view=open")
    assert "Not saved: you can save at most 50 views" in page.content.decode()
    assert "View “z0” saved" in save(client, "z0", "view=mine").content.decode()
    assert {f"z{n}" for n in range(50)} <= set(links(client)), "colleagues' views do not hide mine"
    too_long = save(client, "z0", f"view=open&q={'x' * 3_000}").content.decode()
    assert "Not saved: query:" in too_long
