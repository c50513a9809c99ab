"""The inbox's filters by time, and how the list shows which filters are active."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.models.message import MessageType
from tests.conversations.admin.test_inbox import INBOX, talk, titles
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory


def at(thread: Thread, moment: datetime) -> None:
    Thread.objects.filter(pk=thread.pk).update(updated_at=moment)


@pytest.mark.parametrize(
    ("zone", "begins", "ends", "found"),
    [
        *(("Europe/Vienna", "14:30", "14:30", True), ("Europe/Vienna", "12:30", "12:30", False)),
        *(("Europe/Vienna", "14:30:45", "14:30:45", True), ("", "12:30", "12:30", True)),
        *(("No/Zone", "12:30", "12:30", True), ("", "14:30", "14:30", False)),
        *(("Asia/Tokyo", "21:00", "", True), ("Asia/Tokyo", "22:00", "", False)),
        ("Pacific/Kiritimati", "", "", False),  # where it is already the next day
    ],
)
def test_a_typed_time_is_read_in_the_time_zone_that_the_page_shows(
    client: Client, chatbot: Chatbot, zone: str, begins: str, ends: str, found: bool
) -> None:
    at(talk(chatbot, "noon"), datetime(2026, 5, 1, 12, 30, 45, 678, tzinfo=UTC))
    client.cookies["timezone"] = zone
    day = "2026-05-01"
    query = f"updated_at_from_0={day}&updated_at_from_1={begins}"
    query += f"&updated_at_to_0={day}&updated_at_to_1={ends}"
    assert titles(client, f"?view=open&{query}") == (["noon"] if found else [])


@pytest.mark.parametrize(("begins", "found"), [("02:30", ["first", "second"]), ("03:00", [])])
def test_an_hour_that_the_clock_shows_twice_is_included_twice(
    client: Client, chatbot: Chatbot, begins: str, found: list[str]
) -> None:
    for title, hour in (("second", 1), ("first", 0)):
        at(talk(chatbot, title), datetime(2026, 10, 25, hour, 30, tzinfo=UTC))
    client.cookies["timezone"] = "Europe/Vienna"
    day = "2026-10-25"
    query = f"updated_at_from_0={day}&updated_at_from_1={begins}"
    query += f"&updated_at_to_0={day}&updated_at_to_1=02:30"
    assert sorted(titles(client, f"?view=open&{query}")) == found


@pytest.mark.parametrize(
    ("preset", "shown"),
    [
        ("hour", ["now"]),
        ("today", ["now"]),
        ("yesterday", ["yesterday"]),
        ("week", ["now", "yesterday", "days ago"]),
        ("x", []),
    ],
)
def test_a_preset_selects_its_span(
    client: Client, chatbot: Chatbot, preset: str, shown: list[str]
) -> None:
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    at(talk(chatbot, "now"), timezone.now())
    for title, ago in (("yesterday", 0), ("days ago", 3), ("long ago", 9)):
        at(talk(chatbot, title), midnight - timedelta(days=ago, seconds=1))
    if preset == "hour" and timezone.now().hour == 0:
        pytest.skip("the last hour began yesterday")
    assert titles(client, f"?view=open&updated_at_in={preset}") == shown


@pytest.mark.parametrize(
    "wrong",
    [
        *("updated_at_from_0=2026-05-01&updated_at_from_1=25:00", "updated_at_from_1=25:00"),
        *("updated_at_to_0=x&updated_at_from_1=25:00", "updated_at_to_1=25:00"),
    ],
)
def test_a_wrong_time_is_reported_and_stays_with_the_other_filters(
    client: Client, chatbot: Chatbot, wrong: str
) -> None:
    talk(chatbot, "tagged", tags=["billing"])
    answer = client.get(f"{INBOX}?view=open&tag=billing&{wrong}")
    assert answer.status_code == 200
    page = unescape(answer.content.decode())
    assert "Filter by updated (UTC): enter a date and a valid time" in page
    assert 'value="25:00"' in page
    assert "tag: billing" in page
    assert not answer.context["cl"].result_list


def test_bad_answers_are_found_and_their_question_can_be_tried(
    client: Client, chatbot: Chatbot
) -> None:
    found = {}
    for title, reply, counted in (
        ("disliked", {"reaction": "NEGATIVE"}, {"negative_count": 1}),
        ("fallback", {"fallback_reason": "timeout"}, {"fallback_at": timezone.now()}),
        ("good", {"reaction": "POSITIVE"}, {"positive_count": 1}),
    ):
        found[title] = talk(chatbot, title, **counted)
        asked = MessageFactory(thread=found[title], content="Where & when?")
        kind = MessageType.AI_MESSAGE
        MessageFactory(thread=found[title], message_type=kind, parent_message=asked, **reply)
    talk(ChatbotFactory(), "foreign", negative_count=1, fallback_at=timezone.now())
    talk(chatbot, "resolved", negative_count=1, resolved=True, minutes=1)
    assert titles(client, "?view=bad") == ["fallback", "disliked", "resolved"]
    for title, thread in found.items():
        page = unescape(client.get(f"{INBOX}{thread.pk}/change/").content.decode())
        if title == "good":
            assert "Try this question" not in page
            continue
        assert titles(client, f"?view=open&{title}=1") == [title]
        assert title in titles(client, f"?view=bad&{title}=1")
        [link] = re.findall(r'href="([^"]*)">Try this question', page)
        assert ">Where &amp; when?</textarea>" in client.get(link).content.decode()


def test_active_filters_are_named_and_each_can_be_removed(client: Client, chatbot: Chatbot) -> None:
    query = f"view=open&tag=billing&assignee=me&chatbot={chatbot.pk}&updated_at_in=week"
    answer = client.get(f"{INBOX}?{query}")
    chips = {chip.words: chip.url for chip in answer.context["cl"].chips}
    assert set(chips) == {
        "tag: billing",
        "assigned to: me",
        f"chatbot: {chatbot.name}",
        "updated (UTC): last 7 days",
    }
    for words, url in chips.items():
        left = client.get(f"{INBOX}{url}").context["cl"]
        assert {chip.words for chip in left.chips} == chips.keys() - {words}
        assert left.view == "open"
    assert "Clear all (4)" in answer.content.decode()
    assert not client.get(f"{INBOX}?view=open").context["cl"].chips
