"""The `configure_webhook CHATBOT_ID --url URL` command."""

import io

import pytest
from django.core.management.base import CommandError

from chatbots.models import Chatbot
from tests.commands import record
from webhooks import sealing
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.com/bot"
UNKNOWN = "0199d7a0-0000-7000-8000-000000000000"


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_a_secret_can_be_read_from_standard_input(
    chatbot: Chatbot, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"a-secret-from-standard-input{ending}"))
    made = record("configure_webhook", chatbot.pk, "--url", URL, "--secret", "-")
    assert "secret" not in made
    sealed = Endpoint.objects.get().sealed_secret
    assert sealing.unseal(sealed) == "a-secret-from-standard-input"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense", "--url", URL], "not an id"),
        ([UNKNOWN, "--url", URL], "no chatbot"),
        (["BOT", "--url", "http://plain.example.com"], "url: URL must begin with https://"),
        (["BOT", "--url", URL, "--secret", "short"], "secret must have at least 16"),
        (["BOT", "--url", URL, "--secret", "-"], "standard input is empty"),
        (["BOT", "--url", URL, "--events", "WRONG"], "unknown: WRONG"),
        (["BOT", "--url", URL, "--events", ","], "expected names"),
        (["BOT", "--url", URL, "--keep-secret"], "no secret to keep"),
        (["BOT"], "--url"),
    ],
)
def test_invalid_input_is_a_clear_error(
    chatbot: Chatbot, arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    arguments = [chatbot.pk if each == "BOT" else each for each in arguments]
    with pytest.raises(CommandError, match=words):
        record("configure_webhook", *arguments)
    assert not Endpoint.objects.exists()
