"""The details form of a conversation: unsaved text, and changes by other agents."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.services import escalation, threads
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory
from tests.factories.staff import superuser

UNSAVED = "Not saved yet."


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    visitor = VisitorFactory(chatbot=shop, name="Anna Berg")
    thread = ThreadFactory(chatbot=shop, visitor=visitor, internal_notes="Called twice")
    MessageFactory(thread=thread, content="I was charged twice")
    return Thread.objects.get(pk=thread.pk)


@pytest.fixture
def sam(transactional_db: None) -> User:
    return superuser(name="Sam")


@pytest.fixture
def notes(page: Page, thread: Thread) -> Locator:
    """The notes field on the thread's page, with unsaved text."""
    open_page(page, thread)
    notes = page.get_by_label("Notes")
    notes.fill("Refund\nagreed")
    return notes


def open_page(page: Page, thread: Thread) -> None:
    page.goto(reverse("admin:conversations_thread_change", args=[thread.pk]))
    page.wait_for_load_state()


def test_an_unsaved_note_survives_a_tag_and_a_reload(page: Page, notes: Locator) -> None:
    expect(page.get_by_text(UNSAVED)).to_be_visible()
    page.get_by_label("New tag").fill("billing")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("button", name="Remove the tag billing")).to_be_visible()
    expect(notes).to_have_value("Refund\nagreed")
    page.reload()
    expect(notes).to_have_value("Refund\nagreed")
    expect(page.get_by_text(UNSAVED)).to_be_visible()


def test_a_note_that_a_colleague_saves_first_is_replaced_only_by_the_second_save(
    page: Page, thread: Thread, notes: Locator
) -> None:
    threads.update(thread.pk, {"internal_notes": "Paid back"})
    save = page.get_by_role("button", name="Save details")
    save.click()
    expect(page.get_by_text("Changed while you were editing")).to_be_visible()
    expect(page.get_by_text("Paid back")).to_have_count(1)
    expect(notes).to_have_value("Refund\nagreed")
    expect(notes).to_be_focused()
    save.click()
    expect(page.get_by_text(UNSAVED)).to_be_hidden()
    expect(notes).to_have_value("Refund\nagreed")
    thread.refresh_from_db()
    assert thread.internal_notes == "Refund\nagreed"


@pytest.mark.parametrize("escalated", [False, True])
def test_a_takeover_by_a_colleague_changes_the_header_but_not_the_focused_note(
    page: Page, thread: Thread, notes: Locator, sam: User, escalated: bool
) -> None:
    if escalated:
        escalation.toggle(thread.pk)
        expect(page.get_by_text("waiting for a person")).to_be_visible()
    page.evaluate("window.isKept = true")
    escalation.take_over(thread.pk, agent=sam)
    expect(page.get_by_text("taken over by Sam")).to_be_visible()
    expect(page.get_by_text("waiting for a person")).to_be_hidden()
    expect(page.get_by_role("button", name="Return to the AI")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Send$"))).to_be_visible()
    expect(notes).to_be_focused()
    expect(notes).to_have_value("Refund\nagreed")
    assert page.evaluate("window.isKept")
