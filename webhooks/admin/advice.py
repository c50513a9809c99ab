"""Advise what to do about a failed attempt, by one table with a line for each kind of failure."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

HELD = "Nothing is sent while SENDING=off: it stays due, and is sent when sending is on again"
CODES = {
    range(200, 300): "",
    range(300, 400): "Redirects are not followed: enter the final address.",
    range(401, 402): "The receiver refuses the token: compare the secret on both sides.",
    range(403, 404): "The receiver refuses the token: compare the secret on both sides.",
    range(404, 405): "The receiver has nothing at this address: check the URL.",
    range(410, 411): "The receiver has nothing at this address any more: check the URL.",
    range(400, 500): "The receiver does not accept the request: its answer may say why.",
    range(500, 600): "The receiver failed: look at its own log.",
}
REASONS = {
    "timeout": "The receiver must answer within {seconds:g} s: answer first, work later.",
    "URL not allowed": "Enter a public https address, or have WEBHOOK_ALLOWED_NETWORKS allow it.",
    "name": "Check the host's name, and that it is known everywhere.",
    "address not allowed": "The address is not public: have WEBHOOK_ALLOWED_NETWORKS allow it.",
    "host not reachable": "Check that the receiver is up and lets requests from outside in.",
    "connection": "Check that the receiver is up and lets requests from outside in.",
    "certificate not trusted": "Give the receiver a valid certificate with its whole chain, "
    "or have WEBHOOK_CA_BUNDLE trust it.",
    "certificate": "Give the receiver a valid certificate with its whole chain.",
    "TLS": "Give the receiver a valid certificate with its whole chain.",
    "webhooks add-on": "The account has lost the add-on: ask the person who manages the plan.",
    "webhook deleted": "Set up a webhook for the chatbot, then retry.",
    "content erased": "Its content was erased: it cannot be sent again.",
    "webhook switched off": "Switch the webhook on, then retry.",
    "secret": "Replace the secret: the stored one cannot be read with the keys of this service.",
    "interrupted": "The service was stopped during the attempts: retry.",
}


def say_begun(request: HttpRequest, words: str) -> None:
    """Tell the user that something will be sent, or that sending is held."""
    if settings.SENDING:
        messages.success(request, words)
    else:
        messages.warning(request, HELD)


def advice(code: int | None, error: str) -> str:
    """Return what to do, by the response's code or the reason why there is no response."""
    if code is not None:
        return next((words for codes, words in CODES.items() if code in codes), "")
    words = next((words for start, words in REASONS.items() if error.startswith(start)), "")
    return words.format(seconds=settings.WEBHOOK_TIMEOUT)
