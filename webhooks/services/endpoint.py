"""Configure a chatbot's webhook. Specification: Events, 1 to 4. Open point: plan-webhooks.

A generated secret is returned only by the call that creates it, so the caller must show it then.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import Account
from chatbots.models import Chatbot
from config.database.lengths import SHORT
from config.database.row import save_changes
from webhooks import masking, payloads, sealing, signing
from webhooks.guard import check_url
from webhooks.models import Delivery, Endpoint
from webhooks.models.endpoint import FIRST_LIMIT, all_events
from webhooks.payloads import Event

NO_ADD_ON = (
    "webhooks are an add-on that this account does not have; "
    "new accounts on the Scale plan have it, and a superuser can switch it on for others"
)
UNTRIED = {
    "last_success_at": None,
    "failing_since": None,
    "last_failure_at": None,
    "failures_in_a_row": 0,
    "timed_out": False,
    "attempts_limit": FIRST_LIMIT,
    "owner_told_at": None,
}


class ConfigurationError(ValueError):
    """Raised for an invalid configuration. `path` names the invalid field, if there is one."""

    def __init__(self, path: list[str], message: str) -> None:
        super().__init__(message)
        self.path = path


def configure(
    chatbot: Chatbot,
    *,
    url: str,
    secret: str | None = None,
    events: Iterable[str] | None = None,
    keep_secret: bool = False,
    is_active: bool = True,
    by: str = "",
) -> tuple[Endpoint, str | None]:
    """Create or replace a chatbot's endpoint. `events=None` subscribes to all events.

    If neither `secret` nor `keep_secret` is given, a secret is generated and returned with the
    endpoint. `by` names the person or command that set the secret. Locks the chatbot's row. Raises
    ConfigurationError.
    """
    _check_add_on(chatbot)
    _check("url", check_url, url)
    given = {"url": url, "events": _known(events), "is_active": is_active}
    if secret is not None and keep_secret:
        raise ConfigurationError(["secret"], "give a secret or keep the current one, not both")
    with transaction.atomic():
        # Lock the chatbot, so that concurrent calls do not create two endpoints.
        Chatbot.objects.select_for_update().get(pk=chatbot.pk)
        endpoint = Endpoint.objects.filter(chatbot=chatbot).first()
        made = None
        if keep_secret:
            if endpoint is None:
                raise ConfigurationError(["secret"], "there is no secret to keep yet")
        else:
            made = None if secret is not None else signing.make_secret()
            given |= _sealed(made or secret or "", by)
        if endpoint is None:
            return Endpoint.objects.create(chatbot=chatbot, **given), made
        if endpoint.url != url:
            given |= UNTRIED  # the health of the old receiver says nothing about the new one
        return save_changes(endpoint, given), made


def replace_secret(endpoint: Endpoint, secret: str | None = None, *, by: str = "") -> str:
    """Replace an endpoint's secret. Generates the new secret unless one is given.

    Returns the new secret. Raises ConfigurationError.
    """
    _check_add_on(endpoint.chatbot)
    new = signing.make_secret() if secret is None else secret
    save_changes(endpoint, _sealed(new, by))
    return new


def switch(endpoint: Endpoint, *, active: bool) -> Endpoint:
    """Switch an endpoint on or off. Deliveries that come due while it is off become FAILED."""
    return save_changes(endpoint, {"is_active": active})


def send_test(endpoint: Endpoint, event: str, by: str) -> Delivery:
    """Send a sample event to the endpoint, without retries. Raises ConfigurationError.

    The event waits in the queue and appears in the log, like any other. Specification: Events, 4.
    """
    _check_add_on(endpoint.chatbot)
    [kind] = _known([event])
    context = payloads.Context(
        chatbot_id=endpoint.chatbot_id,
        chatbot_name=endpoint.chatbot.name,
        dashboard_url=f"{settings.PUBLIC_URL}/admin/",
    )
    data = payloads.KINDS[Event(kind)].sample(context)
    made = Delivery.objects.create(
        chatbot=endpoint.chatbot,
        account_id=endpoint.chatbot.account_id,
        event=kind,
        body=payloads.body(data),
        is_test=True,
        retried_by=by[:SHORT],
        due_at=Now(),
    )
    made.refresh_from_db()
    return made


def _check_add_on(chatbot: Chatbot) -> None:
    # Read the account again: its add-on may have been switched off since the chatbot was read.
    if not Account.objects.filter(pk=chatbot.account_id, webhooks_enabled=True).exists():
        raise ConfigurationError([], NO_ADD_ON)


def _check(name: str, check: Callable[[str], None], value: str) -> None:
    try:
        check(value)
    except ValueError as error:
        raise ConfigurationError([name], str(error)) from None


def _known(events: Iterable[str] | None) -> list[str]:
    chosen = set(all_events() if events is None else events)
    if unknown := chosen - set(all_events()):
        raise ConfigurationError(
            ["events"], f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(all_events())}"
        )
    if not chosen:
        raise ConfigurationError(["events"], "at least one event is needed")
    return [event for event in all_events() if event in chosen]


def _sealed(secret: str, by: str) -> dict[str, Any]:  # Any, because the columns' types differ
    _check("secret", signing.check_secret, secret)
    return {
        "sealed_secret": sealing.seal(secret),
        "masked_secret": masking.mask(secret),
        "secret_made_at": timezone.now(),
        "secret_made_by": by[:SHORT],
    }
