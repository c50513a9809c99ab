"""Mails that wait are sent, tried again, and given up in the end."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from accounts import mailing
from accounts.models import Mail
from config.db import new_id
from tests.factories.accounts import AccountFactory
from tests.patience import PATIENCE
from tests.servers.mail import MailServer

pytestmark = pytest.mark.django_db
BUSY, HANGS_UP = b"451 try later\r\n", b""


@pytest.fixture
def server(settings):
    with MailServer() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        yield server


@pytest.fixture
def mail():
    return Mail.objects.create(
        account=AccountFactory(), to="kim@example.com", subject="A lead", body="Call Ada."
    )


def send_all():
    claimed = mailing.claim(4)
    for mail_id, claim in claimed:
        mailing.send(mail_id, claim)
    return len(claimed)


def stored(mail):
    mail.refresh_from_db()
    return mail


def test_a_mail_is_sent_once(server, mail):
    [(mail_id, claim)] = mailing.claim(4)
    for _ in range(3):
        mailing.send(mail_id, claim)
    assert len(server.mails) == 1
    assert "Subject: A lead" in server.mails[0]
    assert "Call Ada." in server.mails[0]
    assert (stored(mail).state, mail.due_at, mail.tries) == ("SENT", None, 1)
    assert send_all() == 0


@pytest.mark.parametrize("trouble", [BUSY, HANGS_UP])
def test_what_is_refused_is_tried_again_ever_later_and_then_given_up(server, mail, trouble):
    server.answers.extend([trouble] * 5)
    for delay in (10, 60, 300, 1800):
        assert send_all() == 1
        left = (stored(mail).due_at - timezone.now()).total_seconds()
        assert (mail.state, delay / 2 < left <= delay) == ("RETRYING", True)
        assert "SMTP" in mail.error
        assert send_all() == 0
        Mail.objects.update(due_at=timezone.now())
    assert send_all() == 1
    assert (stored(mail).state, mail.due_at, mail.tries) == ("FAILED", None, 5)
    assert not server.mails


def test_a_server_that_is_not_there_is_no_reason_to_lose_a_mail(settings, mail):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    send_all()
    assert (stored(mail).state, mail.tries) == ("RETRYING", 1)


def test_a_mail_that_cannot_be_is_given_up_at_once(server, mail):
    Mail.objects.update(subject="two\nlines")
    send_all()
    assert stored(mail).state == "FAILED"
    assert not server.mails


def test_no_more_than_so_many_are_under_way(mail):
    for _ in range(5):
        mail.pk = new_id()
        mail.save(force_insert=True)
    assert len(mailing.claim(3)) == 3
    assert mailing.claim(3) == []


def test_a_claim_that_was_given_back_or_ran_out_is_claimed_again(mail):
    [(mail_id, claim)] = mailing.claim(4)
    mailing.release(mail_id, claim)
    [(_, second)] = mailing.claim(4)
    assert mailing.claim(4) == []
    Mail.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    [(_, third)] = mailing.claim(4)
    assert third != second


class SlowServer(MailServer):
    """A mail server that says nothing until it is let."""

    def __init__(self):
        super().__init__()
        self.begun, self.let = threading.Event(), threading.Event()

    def converse(self, heard, say):
        self.begun.set()
        self.let.wait(PATIENCE)
        super().converse(heard, say)


@pytest.mark.django_db(transaction=True)
def test_a_mail_that_takes_all_of_its_steps_is_sent_by_nobody_else(settings, monkeypatch, mail):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    later = timezone.now() + timedelta(seconds=20 * settings.EMAIL_TIMEOUT)
    settings.EMAIL_TIMEOUT = PATIENCE
    [(mail_id, claim)] = mailing.claim(4)
    with SlowServer() as server, ThreadPoolExecutor(1) as threads:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        sent = threads.submit(mailing.send, mail_id, claim)
        assert server.begun.wait(PATIENCE)
        with monkeypatch.context() as patch:
            patch.setattr(timezone, "now", lambda: later)
            taken_by_others = mailing.claim(4)
        server.let.set()
        sent.result()
        threads.submit(connections.close_all).result()
    assert taken_by_others == []
    assert (len(server.mails), stored(mail).state) == (1, "SENT")


def test_a_late_message_of_a_claim_that_was_lost_sends_nothing(server, mail):
    [(mail_id, lost)] = mailing.claim(4)
    Mail.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    mailing.claim(4)
    mailing.send(mail_id, lost)
    assert not server.mails
