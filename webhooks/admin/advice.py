"""Give advice on a failed attempt, based on the response's code or the reason for the failure."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

from config.outbound.failures import MOST_CODE, Reason
from webhooks.models.reason import Refusal

HELD = "Nothing is sent while SENDING=off; deliveries stay due until sending is on again"
CODES = {
    range(200, 300): "",
    range(300, 400): "Redirects are not followed: enter the final address.",
    range(401, 402): "The receiver rejected the token: compare the secret on both sides.",
    range(403, 404): "The receiver rejected the token: compare the secret on both sides.",
    range(404, 405): "The receiver has nothing at this address: check the URL.",
    range(410, 411): "The receiver no longer has anything at this address: check the URL.",
    range(400, 500): "The receiver rejected the request: its response may say why.",
    range(500, MOST_CODE + 1): "The receiver failed: look at its own log.",
}
REACHABLE = "Check that the receiver is running and accepts connections from outside."
CERTIFICATE = "Install a valid certificate on the receiver, with its full chain."
NAME = "Check that the host name is correct and can be resolved from outside."
INTERRUPTED = "Three attempts were cut short because workers stopped unexpectedly. You can retry."
REASONS: dict[str, str] = {
    Reason.TIMEOUT: "The receiver must respond within {seconds:g} s: respond first, work later.",
    Reason.URL_NOT_ALLOWED: "Enter a public https address, or add the receiver's network to "
    "WEBHOOK_ALLOWED_NETWORKS.",
    Reason.NAME_NOT_FOUND: NAME,
    Reason.NAME_LOOK_UP_FAILED: NAME,
    Reason.ADDRESS_NOT_ALLOWED: "The address is not public: add its network to "
    "WEBHOOK_ALLOWED_NETWORKS.",
    Reason.NOT_REACHABLE: REACHABLE,
    Reason.CONNECTION_REFUSED: REACHABLE,
    Reason.CONNECTION_CLOSED: REACHABLE,
    Reason.CONNECTION_FAILED: REACHABLE,
    Reason.CERTIFICATE_EXPIRED: CERTIFICATE,
    Reason.CERTIFICATE_NAME: CERTIFICATE,
    Reason.CERTIFICATE_NOT_TRUSTED: f"{CERTIFICATE[:-1]}, or add its CA to WEBHOOK_CA_BUNDLE.",
    Reason.TLS_FAILED: "The receiver must accept TLS 1.2 or newer on this port. The error “wrong "
    "version number” usually means that the receiver expects plain HTTP.",
    Reason.ANSWER_NOT_UNDERSTOOD: "The response is not valid HTTP: check the URL and port.",
    Refusal.WEBHOOK_DELETED: "Set up a webhook for the chatbot, then retry.",
    Refusal.SWITCHED_OFF: "Switch the webhook on, then retry.",
    Refusal.ADD_ON_LOST: "The account has lost the add-on: ask a superuser to switch it on.",
    Refusal.CONTENT_ERASED: "The content was erased, so the delivery cannot be sent again.",
    Refusal.SECRET_UNREADABLE: "Replace the secret: no key of this service can decrypt the stored "
    "one.",
    Refusal.INTERRUPTED: INTERRUPTED,
    Refusal.INTERRUPTED_TOO_OFTEN: INTERRUPTED,
    Refusal.GIVEN_UP: "An operator marked the delivery as FAILED. It can still be retried.",
}


def say_begun(request: HttpRequest, words: str) -> None:
    """Show a success message or, while sending is off, a warning that nothing is being sent."""
    if settings.SENDING:
        messages.success(request, words)
    else:
        messages.warning(request, HELD)


def advice(code: int | None, reason: str) -> str:
    """Return advice for a response's code or, if there was no response, for the reason's name."""
    if code is not None:
        return next((words for codes, words in CODES.items() if code in codes), "")
    return REASONS.get(reason, "").format(seconds=settings.WEBHOOK_TIMEOUT)
