"""The reply box: replies that were not sent, and drafts of the AI."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import Thread
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
