"""Queued emails are sent, and retried a limited number of times after a temporary failure."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import BufferedIOBase
from typing import Any

import pytest
from django.db import connections
from django.db.models import F
from django.utils import timezone

from accounts import mail_queue, notifications
from accounts.models import Mail
from accounts.tasks import PRUNE_MAILS, prune_mails
from config.database import claims, locks
from config.database.ids import new_id
from config.models import PeriodicWork
from tests.factories.accounts import AccountFactory, UserFactory
from tests.patience import PATIENCE
from tests.servers.mail import MailServer
from tests.servers.processes import wait_until

pytestmark = pytest.mark.django_db
BUSY, HANGS_UP, NEVER = b"451 try later\r\n", b"", b"550 no\r\n"
HEADER_BREAKS = "\n\r\x0b\u2028"


@pytest.fixture
def server(settings: Any) -> Iterator[MailServer]:
    with MailServer() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        yield server


@pytest.fixture
def mail() -> Mail:
    return Mail.objects.create(
        account=AccountFactory(), to="kim@example.com", subject="A lead", body="Call Ada."
    )


def send_all() -> int:
    claimed = mail_queue.claim(4)
    for mail_id, claim in claimed:
        mail_queue.send(mail_id, claim)
    return len(claimed)


def stored(mail: Mail) -> Mail:
    mail.refresh_from_db()
    return mail


def test_an_email_with_a_new_link_is_sent_before_those_of_accounts(
    server: MailServer, mail: Mail
) -> None:
    person = UserFactory(email="ann@example.com")
    notifications.password_reset(person)
    [(first, claim), _] = mail_queue.claim(4)
    mail_queue.send(first, claim)
    assert "/password-reset/" in server.mails[0]
    assert "/password-reset/" not in Mail.objects.get(pk=first).body + str((first, claim))


def test_a_link_is_not_sent_to_an_address_that_the_person_no_longer_has(
    server: MailServer,
) -> None:
    person = UserFactory(email="ann@example.com")
    notifications.password_reset(person)
    person.email = "new@example.com"
    person.save()
    send_all()
    assert server.mails == []
    assert Mail.objects.get().state == "FAILED"


def test_an_email_is_sent_once(server: MailServer, mail: Mail) -> None:
    [(mail_id, claim)] = mail_queue.claim(4)
    for _ in range(3):
        mail_queue.send(mail_id, claim)
    assert len(server.mails) == 1
    assert "Subject: A lead" in server.mails[0]
    assert "Call Ada." in server.mails[0]
    assert (stored(mail).state, mail.due_at, mail.tries) == ("SENT", None, 1)
    assert send_all() == 0


@pytest.mark.parametrize("trouble", [BUSY, HANGS_UP])
def test_a_rejected_email_is_retried_with_growing_delays_and_then_fails(
    server: MailServer, mail: Mail, trouble: bytes
) -> None:
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
    assert not server.answers, "each attempt reaches the server"


@pytest.mark.parametrize("column", ["subject", "to"])
@pytest.mark.parametrize("separator", HEADER_BREAKS, ids=ascii)
def test_an_email_that_cannot_be_built_fails_immediately(
    server: MailServer, mail: Mail, column: str, separator: str
) -> None:
    """Django accepts a quoted address that contains a line separator."""
    text = {"subject": f"A{separator}Bcc: b", "to": f'"a{separator}b"@example.com'}[column]
    Mail.objects.update(**{column: text})
    send_all()
    assert (stored(mail).state, mail.tries, mail.due_at) == ("FAILED", 1, None)
    assert not server.mails


def test_an_email_that_the_server_rejects_permanently_fails_immediately(
    server: MailServer, mail: Mail
) -> None:
    server.answers.append(NEVER)
    send_all()
    assert (stored(mail).state, mail.tries) == ("FAILED", 1)
    assert "550" in mail.error


def test_an_email_that_kills_the_process_on_every_try_fails_in_the_end(
    server: MailServer, mail: Mail
) -> None:
    for tries in range(1, 6):
        assert len(mail_queue.claim(4)) == 1
        Mail.objects.update(tries=F("tries") + 1)  # as send() does first
        assert mail_queue.claim(4) == []
        Mail.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        assert stored(mail).tries == tries
    assert send_all() == 1
    assert (stored(mail).state, mail.due_at) == ("FAILED", None)
    assert not server.mails


def test_old_finished_emails_are_deleted(mail: Mail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "BATCH", 2)
    old = timezone.now() - timedelta(days=31)
    for state, due, made in (
        *[("SENT", None, old)] * 3,
        ("FAILED", None, old),
        ("RETRYING", old, old),
        ("SENT", None, timezone.now()),
    ):
        mail.pk, mail.state, mail.due_at = new_id(), state, due
        mail.save(force_insert=True)
        Mail.objects.filter(pk=mail.pk).update(created_at=made)
    PeriodicWork.objects.add([PRUNE_MAILS])
    [(_, claim)] = PeriodicWork.objects.claim()
    prune_mails(claim)
    left = sorted(Mail.objects.values_list("state", flat=True))
    assert left == ["PENDING", "RETRYING", "SENT"]


class SlowServer(MailServer):
    """A mail server that does not respond until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = threading.Event(), threading.Event()

    def converse(self, heard: BufferedIOBase, say: BufferedIOBase) -> None:
        self.begun.set()
        self.let.wait(PATIENCE)
        super().converse(heard, say)


@pytest.mark.django_db(transaction=True)
def test_the_lease_of_a_slow_email_is_renewed(
    settings: Any, monkeypatch: pytest.MonkeyPatch, mail: Mail
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_TIMEOUT = PATIENCE
    monkeypatch.setattr(claims, "RENEWED_EVERY", 0.05)
    [(mail_id, claim)] = mail_queue.claim(4)
    with SlowServer() as server, ThreadPoolExecutor(1) as threads:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        sent = threads.submit(mail_queue.send, mail_id, claim)
        assert server.begun.wait(PATIENCE)
        Mail.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        wait_until(Mail.objects.filter(claimed_until__gt=timezone.now()).exists)
        assert mail_queue.claim(4) == []
        server.let.set()
        sent.result()
        threads.submit(connections.close_all).result()
    assert (len(server.mails), stored(mail).state) == (1, "SENT")
