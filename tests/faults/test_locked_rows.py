"""If another PostgreSQL session keeps rows locked, only work on those rows has to wait.

This happens, for example, when a transaction is left open by mistake.
"""

import threading
import time
from typing import Any

import pytest
from django.conf import settings

from accounts.models import Mail
from tests.factories.accounts import AccountFactory
from tests.factories.webhooks import DeliveryFactory
from tests.patience import PATIENCE
from tests.servers.locks import locked
from tests.servers.mail import MailServer
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Endpoint

HELD = 10.0  # how long the email's row stays locked, in seconds; longer than its lease


class HeldMailServer(MailServer):
    """A mail server that does not respond until `ready` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()

    def converse(self, *streams: Any) -> None:
        self.ready.wait(PATIENCE)
        super().converse(*streams)


@pytest.mark.proves("Delivery rules")
@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has no row locks")
def test_an_email_that_is_locked_while_it_is_sent_is_sent_once_and_deliveries_go_on(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    mail = Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A")
    with (
        HeldMailServer() as mails,
        Worker(EMAIL_URL=f"smtp://127.0.0.1:{mails.port}") as worker,
    ):
        wait_until(lambda: Mail.objects.filter(tries=1).exists(), told=worker.said)
        with locked(Mail.objects.filter(pk=mail.pk)):
            mails.ready.set()
            released = time.monotonic() + HELD
            while time.monotonic() < released:
                count = len(receiver.arrivals)
                DeliveryFactory(chatbot=endpoint.chatbot)
                receiver.wait_for(count + 1)
        wait_until(lambda: Mail.objects.filter(state="SENT").exists(), told=worker.said)
    assert len(mails.mails) == 1
