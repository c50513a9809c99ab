"""Notification emails: one line per header, one email per address, an hourly limit."""

from datetime import timedelta
from email import message_from_bytes, policy
from typing import Any

import pytest
from django.utils import timezone

from accounts import mail_queue
from accounts.models import Account, Mail
from accounts.notifications import MAILS_PER_HOUR, one_line, write
from chatbots.models import Chatbot
from tests.conftest import Api
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import LeadSettingsFactory

CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF)]


@pytest.fixture
def account(db: None) -> Account:
    return AccountFactory()


def header_names(subject: str) -> list[str]:
    """Build an email as the worker does. Returns the names of the email's headers."""
    built = mail_queue.build(Mail(to="kim@example.com", subject=subject, body="b"))
    return message_from_bytes(built.message().as_bytes(), policy=policy.SMTP).keys()


EXPECTED = header_names("plain")


@pytest.mark.parametrize("character", CONTROLS, ids=ascii)
def test_no_control_character_breaks_a_header(character: str) -> None:
    subject = one_line(f"Lead{character}Bcc: x@example.com{character}")
    assert subject in ("Lead Bcc: x@example.com", "LeadBcc: x@example.com")
    assert header_names(subject) == EXPECTED


def test_an_address_listed_several_times_gets_one_email(account: Account) -> None:
    given = ["b@example.com", "A@example.com", *["a@EXAMPLE.com"] * 50, "B@example.com"]
    write(account, given, subject="s", body="b")
    written = Mail.objects.order_by("pk").values_list("to", flat=True)
    assert list(written) == ["b@example.com", "A@example.com"]


def test_an_account_sends_a_limited_number_of_emails_an_hour(account: Account, caplog: Any) -> None:
    addresses = [f"{number}@example.com" for number in range(60)]
    for _ in range(4):
        write(account, addresses, subject="s", body="b")
    assert Mail.objects.count() == MAILS_PER_HOUR
    assert caplog.text.count("further emails are dropped") == 1
    write(AccountFactory(), addresses, subject="s", body="b")
    assert Mail.objects.count() == MAILS_PER_HOUR + 60
    Mail.objects.update(created_at=timezone.now() - timedelta(hours=1))
    write(account, addresses, subject="s", body="b")
    assert Mail.objects.count() == MAILS_PER_HOUR + 120


def test_a_line_break_in_a_visitors_name_becomes_a_space_in_the_email(
    api: Api, chatbot: Chatbot
) -> None:
    address = "sales@example.com"
    LeadSettingsFactory(
        chatbot=chatbot, lead_notification=True, lead_notification_email=[address] * 50
    )
    contact = {"visitorName": "Ann\u2028Bcc: x@y.z", "visitorEmail": "ann@example.com"}
    api.post(f"/v1/chatting/{chatbot.pk}/threads", contact)
    mail = Mail.objects.get()
    assert (mail.to, mail.subject) == (address, f"{chatbot.name}: new lead Ann Bcc: x@y.z")
