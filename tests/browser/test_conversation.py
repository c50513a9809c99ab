"""Agents at work on a conversation: replies, drafts, notes, shortcuts and colleagues."""

import re
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Error, Page, Route, expect

from accounts.models import Mail, User
from chatbots.models import Chatbot
from conversations.models import CannedReply, Draft, Message, Thread
from conversations.models.message import MessageType
from conversations.services import agent_message, escalation, threads
from tests.browser.conftest import Opens, end_session, open_page, page_of, send_button, sign_in
from tests.browser.crawl import DESK, Look
from tests.browser.devices import Device
from tests.factories.conversations import ThreadFactory, VisitorFactory, from_visitor

UNSAVED = "Not saved yet."
# Returns the element that scrolls the messages. On a phone, this is the whole page. On a desktop,
# it is an element within the page.
SCROLLER = """() => {
    let one = document.getElementById("bubbles");
    while (one && !(one.scrollHeight > one.clientHeight + 100
        && /auto|scroll/.test(getComputedStyle(one).overflowY))) one = one.parentElement;
    return one || document.scrollingElement;
}"""


def answers() -> list[str]:
    rows = Message.objects.filter(message_type=MessageType.AGENT_MESSAGE)
    return list(rows.order_by("position").values_list("content", flat=True))


def test_an_answer_is_stored_once_whether_its_request_or_its_confirmation_is_lost(
    page: Page, thread: Thread
) -> None:
    def lose_confirmation(route: Route) -> None:
        route.fetch(max_redirects=0)
        route.abort()

    def send(fails: object) -> None:
        page.route("**/reply/", fails)
        with suppress(Error):  # navigation fails, and the browser shows its own error page
            send_button(page).click()
        page.wait_for_url("chrome-error://**")
        page.unroute("**/reply/")
        open_page(page, thread)

    open_page(page, thread)
    box = page.get_by_label("Reply as Kim")
    box.fill("Let me look")
    send(lambda route: route.abort())
    expect(box).to_have_value("Let me look")
    send(lose_confirmation)
    expect(page.get_by_role("log")).to_contain_text("Let me look")
    expect(box).to_have_value("")
    assert answers() == ["Let me look"]


def test_new_messages_appear_and_change_neither_the_text_nor_the_place(
    page: Page, thread: Thread, sam: User
) -> None:
    Thread.objects.filter(pk=thread.pk).update(unread_messages_count=1)
    with page.expect_response(re.compile("/seen/$")):
        open_page(page, thread)
    assert Thread.objects.get(pk=thread.pk).unread_messages_count == 0
    page.get_by_label("Reply as Kim").fill("half a sent")
    scroller = page.evaluate_handle(SCROLLER)
    scroller.evaluate("one => one.scrollTop = 200")
    from_visitor(thread, "Are you there?")
    expect(page.get_by_role("log")).to_contain_text("Are you there?")
    assert scroller.evaluate("one => one.scrollTop") == 200
    expect(page.get_by_text("Are you there?")).not_to_be_in_viewport()
    page.get_by_role("button", name="1 new message").click()
    expect(page.get_by_text("Are you there?")).to_be_in_viewport(ratio=1)
    expect(page.get_by_label("Reply as Kim")).to_have_value("half a sent")


def test_two_agents_see_each_other_and_the_later_answer_is_held_back(
    device: Device, opens: Opens, thread: Thread, sam: User
) -> None:
    page = device.page
    escalation.toggle(thread.pk)
    open_page(page, thread)
    box = page.get_by_label("Reply as Kim")
    device.write(box, "We will refund it")
    other = opens(sam)
    sams = device.on(other)
    other.goto(page_of(thread))
    expect(page.get_by_text("Sam is also here")).to_be_visible()
    expect(other.get_by_text("Kim is also here")).to_be_visible()
    sams.write(other.get_by_label("Reply as Sam"), "It is refunded")
    sams.press_twice(send_button(other))
    expect(other.get_by_role("log")).to_contain_text("It is refunded")
    device.press(send_button(page))
    expect(page.get_by_text("another agent answered while you were writing")).to_be_visible()
    expect(page.get_by_role("blockquote")).to_contain_text("Sam answered: It is refunded")
    expect(page).to_have_url(re.compile(f"{page_of(thread)}$"))
    expect(box).to_have_value("We will refund it")
    assert answers() == ["It is refunded"]
    device.press(page.get_by_role("button", name="Send anyway", exact=True))
    expect(page.get_by_role("log")).to_contain_text("We will refund it")
    assert answers() == ["It is refunded", "We will refund it"]


@pytest.mark.slow
def test_a_lost_connection_is_shown_and_the_page_recovers(
    device: Device, opens: Opens, person: User, thread: Thread, sam: User
) -> None:
    page = opens(person)
    open_page(page, thread)
    device.on(page).write(page.get_by_label("Reply as Kim"), "half a sentence")
    page.context.set_offline(True)
    expect(page.get_by_text("Not connected, trying again.")).to_be_visible()
    agent_message.answer(thread.pk, agent=sam, content="A colleague is here")
    page.context.set_offline(False)
    expect(page.get_by_role("log")).to_contain_text("A colleague is here")
    expect(page.get_by_text("Not connected, trying again.")).to_be_hidden()
    expect(page.get_by_label("Reply as Kim")).to_have_value("half a sentence")


def test_an_edited_draft_survives_the_end_of_the_session_and_is_deleted_when_sent(
    page: Page, person: User, thread: Thread
) -> None:
    newest = thread.messages.order_by("-position")[:2]
    used, kept = [
        Draft.objects.create(message=one, content=f"Draft {one.position}.") for one in newest
    ]
    open_page(page, thread)
    box = page.get_by_label("Reply as Kim")
    bubble = page.locator(".bubble.draft", has_text=used.content)
    bubble.get_by_role("link", name="use").click()
    page.wait_for_url(re.compile(str(used.pk)))
    expect(box).to_have_value(used.content)
    page.wait_for_load_state()
    box.fill("Draft, edited\nby Kim")
    end_session(page)
    page.reload()
    sign_in(Device(page, Look(DESK, "light")), person)
    expect(box).to_have_value("Draft, edited\nby Kim")
    send_button(page).click()
    expect(page.get_by_role("log")).to_contain_text("Draft, edited")
    assert list(Draft.objects.all()) == [kept]


def test_an_unsaved_note_survives_a_tag_a_reload_and_a_sign_out(
    page: Page, person: User, thread: Thread
) -> None:
    open_page(page, thread)
    box, notes = page.get_by_label("Reply as Kim"), page.get_by_label("Notes")
    box.fill("Let me look")
    notes.fill("Refund\nagreed")
    expect(page.get_by_text(UNSAVED)).to_be_visible()
    page.get_by_label("New tag").fill("billing")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("button", name="Remove the tag billing")).to_be_visible()
    page.reload()
    expect(page.get_by_text(UNSAVED)).to_be_visible()
    page.locator("[x-data*=openUserLinks] > div").first.click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_text("Unsent replies and unsaved notes stay in this")).to_be_visible()
    page.get_by_role("link", name="Log in again").click()
    sign_in(Device(page, Look(DESK, "light")), person)
    open_page(page, thread)
    expect(box).to_have_value("Let me look")
    expect(notes).to_have_value("Refund\nagreed")


def test_a_note_that_a_colleague_saves_first_is_replaced_only_by_the_second_save(
    page: Page, thread: Thread
) -> None:
    open_page(page, thread)
    notes, save = page.get_by_label("Notes"), page.get_by_role("button", name="Save details")
    notes.fill("Refund\nagreed")
    threads.update(thread.pk, {"internal_notes": "Paid back"})
    save.click()
    expect(page.get_by_text("Changed while you were editing")).to_be_visible()
    expect(page.get_by_text("Paid back")).to_have_count(1)
    expect(notes).to_have_value("Refund\nagreed")
    expect(notes).to_be_focused()
    save.click()
    expect(page.get_by_text(UNSAVED)).to_be_hidden()
    thread.refresh_from_db()
    assert thread.internal_notes == "Refund\nagreed"


def test_a_takeover_by_a_colleague_changes_the_header_but_not_the_focused_note(
    page: Page, thread: Thread, sam: User
) -> None:
    open_page(page, thread)
    notes = page.get_by_label("Notes")
    notes.fill("Refund\nagreed")
    escalation.toggle(thread.pk)
    expect(page.get_by_text("waiting under 1 min")).to_be_visible()
    escalation.take_over(thread.pk, agent=sam)
    expect(page.get_by_text("taken over by Sam")).to_be_visible()
    expect(page.get_by_text("waiting under 1 min")).to_be_visible()  # until Sam answers
    expect(page.get_by_role("button", name="Return to the AI")).to_be_visible()
    expect(notes).to_be_focused()
    expect(notes).to_have_value("Refund\nagreed")


def test_a_canned_reply_is_inserted_by_its_first_letters_or_from_the_menu(
    device: Device, shop: Chatbot, thread: Thread
) -> None:
    for name, text in (("refund", "{visitor}, we refund you."), ("hours", "We open at 9.")):
        CannedReply.objects.create(account=shop.account, name=name, text=text)
    page = device.page
    open_page(page, thread)
    box = page.get_by_label("Reply as Kim")
    device.write(box, "Sorry! /re")
    expect(page.get_by_role("option", name="/refund")).to_be_visible()
    page.keyboard.press("Enter")
    expect(box).to_have_value("Sorry! Anna Berg, we refund you.")
    page.keyboard.type(" and/or /")
    expect(page.locator(".suggestions:visible li")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(".suggestions:visible li")).to_have_count(0)
    page.keyboard.press("Backspace")
    device.press(page.get_by_text("Canned replies", exact=True).last)
    device.press(page.get_by_role("link", name="/hours"))
    expect(box).to_have_value("Sorry! Anna Berg, we refund you. and/or We open at 9.")
    assert answers() == []


def test_keys_take_over_send_and_resolve_and_lead_to_the_next_conversation(
    device: Device, shop: Chatbot, thread: Thread
) -> None:
    other = ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name="Jo"))
    since = timezone.now() - timedelta(minutes=9)
    Thread.objects.filter(pk=other.pk).update(escalated=True, waiting_since=since)
    page = device.page
    open_page(page, thread)
    for state in ("taken over by Kim", "the AI answers"):
        with page.expect_navigation():
            page.keyboard.press("t")
        expect(page.get_by_text(state)).to_be_visible()
    page.keyboard.press("r")
    page.keyboard.type("Refunded")
    page.keyboard.press("Control+Shift+Enter")
    page.wait_for_url(re.compile(str(other.pk)))
    expect(page.get_by_text("Sent and resolved: Anna Berg")).to_be_visible()
    device.write(page.get_by_label("Reply as Kim"), "Done")
    device.press(page.get_by_role("button", name="Send and resolve"))
    expect(page.get_by_text("Nobody is waiting.")).to_be_visible()
    assert answers() == ["Done", "Refunded"]
    assert not Thread.objects.filter(resolved=False).exists()


def test_a_note_mentions_a_colleague_who_sees_it_without_a_reload(
    device: Device, opens: Opens, shop: Chatbot, thread: Thread, sam: User
) -> None:
    shop.account.memberships.create(user=sam, role="MEMBER")
    shop.memberships.create(user=sam)
    page, other = device.page, opens(sam)
    for each in (page, other):
        open_page(each, thread)
    page.keyboard.press("n")
    expect(page.get_by_label("Internal note")).to_be_focused()
    page.keyboard.type("@s")
    expect(page.get_by_role("option", name="@Sam")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("please look")
    device.press(page.get_by_role("button", name="Add note"))
    for each in (page, other):
        expect(each.get_by_role("log")).to_contain_text("@Sam please look")
    assert [mail.to for mail in Mail.objects.all()] == [sam.email]
    assert answers() == []


@pytest.mark.slow
def test_keys_lead_to_the_notes_and_to_the_previous_waiting_conversation(
    page: Page, shop: Chatbot, thread: Thread
) -> None:
    other = ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name="Jo"))
    for row, minutes in ((other, 9), (thread, 3)):
        since = timezone.now() - timedelta(minutes=minutes)
        Thread.objects.filter(pk=row.pk).update(escalated=True, waiting_since=since)
    open_page(page, thread)
    page.keyboard.press("n")
    notes = page.get_by_label("Internal note")
    expect(notes).to_be_focused()
    page.keyboard.type("kn")
    expect(notes).to_have_value(re.compile("kn"))
    page.locator(".thread-head .who").click()
    page.keyboard.press("k")
    page.wait_for_url(re.compile(str(other.pk)))
