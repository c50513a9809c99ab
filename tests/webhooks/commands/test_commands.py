"""The webhook commands, as operators type them."""

import io
import json
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from tests.factories.webhooks import SECRET, DeliveryFactory, EndpointFactory
from webhooks import sealing
from webhooks.models import Delivery, Endpoint
from webhooks.services.encryption import rotate
from webhooks.services.endpoint import replace_secret

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.com/bot"
NOBODY = "0199d7a0-0000-7000-8000-000000000000"


def said(*arguments):
    """Run a command with --json and parse its output."""
    out = io.StringIO()
    call_command(*map(str, arguments), "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "configure_webhook",
            "or replace a chatbot's webhook, and switch it on. A new secret is generated",
        ),
        ("configure_webhook", "keep the current secret"),
        ("configure_webhook", "default: all, even if fewer were chosen before"),
        ("retry_deliveries", "only FAILED deliveries are ever retried"),
        ("retry_deliveries", "only this chatbot"),
        ("retry_deliveries", "2030-01-31T12:00:00Z (default zone: UTC)"),
        ("retry_deliveries", "NEW_MESSAGE, CONVERSATION_ESCALATED or NEW_LEAD"),
        ("prune_deliveries", "age in days, from 1 to 100000"),
        ("webhook_sink", "the result does not change the response"),
        ("webhook_sink", "at least 16 characters"),
        ("webhook_sink", "before each response; the service waits for 7.5"),
        ("webhook_sink", "requires a failure option"),
    ],
)
def test_the_help_explains_surprising_behaviour(command, words, capsys, settings):
    settings.WEBHOOK_TIMEOUT = 7.5
    with pytest.raises(SystemExit):
        call_command(command, "--help")
    assert words in " ".join(capsys.readouterr().out.split())


class TestConfigureWebhook:
    """configure_webhook CHATBOT_ID --url URL."""

    def test_it_prints_a_new_secret_only_once(self, chatbot):
        record = said("configure_webhook", chatbot.pk, "--url", URL)
        assert sealing.unseal(Endpoint.objects.get().sealed_secret) == record["secret"]
        assert (record["chatbotId"], record["url"]) == (str(chatbot.pk), URL)
        assert "secret" not in said("configure_webhook", chatbot.pk, "--url", URL, "--keep-secret")

    def test_the_output_for_people_is_plain_lines(self, chatbot):
        out = io.StringIO()
        call_command("configure_webhook", str(chatbot.pk), "--url", URL, stdout=out)
        assert {
            f"url: {URL}",
            "events: NEW_MESSAGE, CONVERSATION_ESCALATED, NEW_LEAD",
            "isActive: yes",
        } < set(out.getvalue().splitlines())

    @pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
    def test_a_secret_can_be_read_from_standard_input(self, chatbot, monkeypatch, ending):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"out-of-everybodys-sight{ending}"))
        record = said("configure_webhook", chatbot.pk, "--url", URL, "--secret", "-")
        assert "secret" not in record
        sealed = Endpoint.objects.get().sealed_secret
        assert sealing.unseal(sealed) == "out-of-everybodys-sight"

    def test_events_are_chosen_by_name(self, chatbot):
        chosen = ("--events", "NEW_LEAD,NEW_MESSAGE")
        record = said("configure_webhook", chatbot.pk, "--url", URL, *chosen)
        assert record["events"] == ["NEW_MESSAGE", "NEW_LEAD"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["nonsense", "--url", URL], "not an id"),
            ([NOBODY, "--url", URL], "no chatbot"),
            (["BOT", "--url", "http://plain.example.com"], "url: URL must begin with https://"),
            (["BOT", "--url", URL, "--secret", "short"], "secret must have at least 16"),
            (["BOT", "--url", URL, "--secret", "-"], "standard input is empty"),
            (["BOT", "--url", URL, "--events", "WRONG"], "unknown: WRONG"),
            (["BOT", "--url", URL, "--events", ","], "expected names"),
            (["BOT", "--url", URL, "--keep-secret"], "no secret to keep"),
            (["BOT"], "--url"),
        ],
    )
    def test_invalid_input_is_a_clear_error(self, chatbot, arguments, words, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO())
        arguments = [chatbot.pk if each == "BOT" else each for each in arguments]
        with pytest.raises(CommandError, match=words):
            said("configure_webhook", *arguments)
        assert not Endpoint.objects.exists()


class TestRetryDeliveries:
    """retry_deliveries [--failed] [--chatbot ID] [--since ISO] [--event NAME]."""

    @pytest.fixture
    def failed(self, chatbot):
        return DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=None, event="NEW_LEAD")

    @pytest.mark.parametrize(
        ("arguments", "retried"),
        [
            ([], 1),
            (["--failed"], 1),
            (["--event", "NEW_LEAD"], 1),
            (["--event", "NEW_MESSAGE"], 0),
            (["--since", "2020-01-01"], 1),
            (["--since", "2999-01-01T00:00:00Z"], 0),
            (["--chatbot", "BOT"], 1),
            (["--chatbot", "OTHER"], 0),
        ],
    )
    def test_it_retries_the_matching_deliveries(self, chatbot, failed, arguments, retried):
        names = {"BOT": chatbot.pk, "OTHER": EndpointFactory().chatbot_id}
        arguments = [names.get(each, each) for each in arguments]
        assert said("retry_deliveries", *arguments) == {"retried": retried}
        assert Delivery.objects.filter(due_at__isnull=False).count() == retried

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--chatbot", NOBODY], "no chatbot"),
            (["--since", "yesterday"], "not a time such as"),
            (["--event", "OTHER"], "invalid choice"),
        ],
    )
    def test_invalid_input_is_a_clear_error(self, failed, arguments, words):
        with pytest.raises(CommandError, match=words):
            said("retry_deliveries", *arguments)


class TestPruneDeliveries:
    """prune_deliveries --older-than DAYS."""

    def test_it_deletes_older_deliveries(self, chatbot):
        for days in (1, 5):
            made = DeliveryFactory(chatbot=chatbot, state="SUCCESS", due_at=None)
            then = timezone.now() - timedelta(days=days)
            Delivery.objects.filter(pk=made.pk).update(created_at=then)
        assert said("prune_deliveries", "--older-than", 3) == {"deleted": 1}

    @pytest.mark.parametrize("days", ["0", "-1", "many"])
    def test_an_invalid_age_is_a_clear_error(self, days):
        with pytest.raises(CommandError, match="not a number from 1"):
            said("prune_deliveries", "--older-than", days)


class TestRotateEncryptionKeys:
    """rotate_encryption_keys."""

    @pytest.fixture
    def old_key(self, settings):
        """Endpoints sealed with yesterday's key, under today's keys."""
        endpoints = [EndpointFactory() for _ in range(3)]
        [old] = settings.ENCRYPTION_KEYS
        settings.ENCRYPTION_KEYS = (Fernet.generate_key().decode(), old)
        return endpoints

    def sealed(self):
        return list(Endpoint.objects.order_by("pk").values_list("sealed_secret", flat=True))

    def test_the_old_key_is_no_longer_needed_after_a_rotation(self, old_key, settings):
        assert said("rotate_encryption_keys") == {"secrets": 3}
        settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
        assert [sealing.unseal(each) for each in self.sealed()] == [SECRET] * 3

    def test_a_second_run_changes_nothing(self, old_key):
        said("rotate_encryption_keys")
        before = self.sealed()
        said("rotate_encryption_keys")
        assert self.sealed() == before

    def test_a_secret_that_no_key_opens_is_reported_and_does_not_stop_the_others(
        self, old_key, settings
    ):
        Endpoint.objects.filter(pk=old_key[0].pk).update(sealed_secret="sealed by nobody")
        with pytest.raises(CommandError, match="1 of 3 secrets"):
            said("rotate_encryption_keys")
        settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
        assert [sealing.is_newest(each) for each in self.sealed()].count(True) == 2

    def test_a_secret_that_is_replaced_during_the_rotation_is_kept(self, old_key):
        rotating = rotate()
        next(rotating)
        last = Endpoint.objects.order_by("pk").last()
        replace_secret(last, "a-secret-that-is-newer")
        assert list(rotating) == [False, False]
        assert [sealing.unseal(each) for each in self.sealed()] == [
            *[SECRET] * 2,
            "a-secret-that-is-newer",
        ]


def test_a_retry_reports_erased_deliveries(capsys):
    endpoint = EndpointFactory()
    DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", due_at=None)
    DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", due_at=None, body=b"")
    assert said("retry_deliveries") == {"retried": 1}
    assert "1 cannot be retried: their content was erased" in capsys.readouterr().err
