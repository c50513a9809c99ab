"""The reply box: replies that were not sent, and drafts from the AI."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import Draft, Thread
from conversations.services import agent_message, threads
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import superuser


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    thread = ThreadFactory(chatbot=shop, escalated=True)
    for number in range(60):
        MessageFactory(thread=thread, content=f"Question {number}.")
    return Thread.objects.get(pk=thread.pk)


@pytest.fixture
def sam(transactional_db: None) -> User:
    return superuser(name="Sam")


def address(thread: Thread) -> str:
    return reverse("admin:conversations_thread_change", args=[thread.pk])


def open_page(page: Page, thread: Thread) -> None:
    page.goto(address(thread))
    page.wait_for_load_state()


def test_a_form_that_was_not_accepted_stays_on_the_page_of_its_conversation(
    page: Page, thread: Thread, sam: User
) -> None:
    open_page(page, thread)
    page.get_by_role("link", name="Older messages").click()
    expect(page.get_by_text("Newest messages")).to_be_visible()
    box, notes = page.get_by_label("Reply as Kim"), page.get_by_label("Notes")
    box.fill("We cannot refund it")
    agent_message.answer(thread.pk, agent=sam, content="It is refunded")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("blockquote")).to_contain_text("Sam answered: It is refunded")
    expect(page).to_have_url(re.compile(f"{address(thread)}$"))
    page.reload()
    expect(box).to_have_value("We cannot refund it")
    notes.fill("No refund")
    threads.update(thread.pk, {"internal_notes": "Refund"})
    page.get_by_role("button", name="Save details").click()
    expect(page.get_by_text("Changed while you were editing")).to_be_visible()
    expect(page).to_have_url(re.compile(f"{address(thread)}$"))
    page.get_by_role("link", name="Older messages").click()
    expect(page.get_by_text("Question 9.")).to_be_visible()
    expect(box).to_have_value("We cannot refund it")
    expect(notes).to_have_value("No refund")


@pytest.fixture
def drafts(thread: Thread) -> list[Draft]:
    """A draft for each of the last two messages."""
    newest = thread.messages.order_by("-position")[:2]
    return [Draft.objects.create(message=one, content=f"Draft {one.position}.") for one in newest]


def use(page: Page, draft: Draft) -> None:
    bubble = page.locator(".bubble.draft", has_text=draft.content)
    bubble.get_by_role("link", name="use").click()
    page.wait_for_url(re.compile(str(draft.pk)))
    page.wait_for_load_state()


def test_an_edited_draft_survives_a_reload_and_the_end_of_the_session(
    page: Page, thread: Thread, drafts: list[Draft]
) -> None:
    open_page(page, thread)
    box = page.get_by_label("Reply as Kim")
    use(page, drafts[0])
    expect(box).to_have_value(drafts[0].content)
    box.fill("Draft, edited\nby Kim")
    page.reload()
    expect(box).to_have_value("Draft, edited\nby Kim")
    session = page.context.cookies()
    page.context.clear_cookies()
    page.reload()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    page.context.add_cookies(session)
    open_page(page, thread)
    expect(box).to_have_value("Draft, edited\nby Kim")
    expect(page.get_by_text("Your unsent text")).to_be_hidden()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("log")).to_contain_text("Draft, edited")
    assert list(Draft.objects.all()) == [drafts[1]]
