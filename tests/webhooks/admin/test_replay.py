"""A delivery's page verifies the request's signature and shows a curl command for the request."""

import json
import subprocess
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.webhooks import SECRET, DeliveryFactory, EndpointFactory
from tests.servers.receiver import Receiver
from webhooks.admin.replay import curl_line, signature_verdict
from webhooks.models import Attempt, Delivery
from webhooks.signing import SIGNATURE, TOKEN, signature

pytestmark = pytest.mark.django_db
BODY = json.dumps({"event": "NEW_MESSAGE", "q": 'it\'s 5 $HOME `x` \\ "é" \r\n%s'}).encode()


def attempt_of(delivery: Delivery, **fields: Any) -> Attempt:
    made = {"delivery": delivery, "number": 1, "status": "FAILED", "started_at": timezone.now()}
    return Attempt.objects.create(**made | fields)


@pytest.mark.parametrize(
    ("fields", "endpoint", "verdict"),
    [
        ({}, {}, (True, "matches")),
        ({"body": b"{}"}, {}, (False, "does not match")),
        ({}, {"secret_made_at": "later"}, (None, "signed with an earlier secret")),
        ({}, {"sealed_secret": "broken"}, (None, "no key of this service")),
        ({"body": b""}, {}, (None, "content was erased")),
        ({}, None, (None, "webhook was deleted")),
    ],
)
def test_the_signature_is_recomputed_if_the_secret_is_still_the_same(
    chatbot: Chatbot,
    fields: dict[str, Any],
    endpoint: dict[str, Any] | None,
    verdict: tuple[bool | None, str],
) -> None:
    later = timezone.now() + timedelta(hours=1)
    times = {"secret_made_at": timezone.now() - timedelta(hours=1)}
    given = times | {
        name: later if value == "later" else value for name, value in (endpoint or {}).items()
    }
    found = EndpointFactory(chatbot=chatbot, **given) if endpoint is not None else None
    delivery = DeliveryFactory(chatbot=chatbot, **{"body": BODY} | fields)
    attempt = attempt_of(delivery, signature=signature(BODY, SECRET))
    matches, words = signature_verdict(delivery, found, attempt)
    assert (matches, verdict[1] in words) == (verdict[0], True), words


def test_the_curl_line_sends_the_same_bytes_and_signs_them_with_the_secret(
    receiver: Receiver,
) -> None:
    line = curl_line(receiver.url("/it's?a=1&b=$HOME"), BODY).replace("curl ", "curl -sk ")
    assert SECRET not in line
    subprocess.run(["sh", "-c", line], env={"SECRET": SECRET}, check=True, timeout=30)
    [arrival] = receiver.arrivals
    assert arrival.body == BODY
    headers = {name.lower(): value for name, value in arrival.headers}
    assert headers[TOKEN.lower()] == SECRET
    assert headers[SIGNATURE.lower()] == signature(BODY, SECRET)
