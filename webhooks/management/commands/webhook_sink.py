"""Receive webhooks on this machine, to inspect and verify them."""

import json
import math
import shlex
import signal
from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.api.body import dumps
from config.runtime.commands import CHECKS, positive, secret_given
from webhooks import signing
from webhooks.sink.certificates import Certificates, certificates
from webhooks.sink.server import Arrival, Behavior, Mishap, Sink

FOLDER = "webhook_sink"
INTRODUCTION = """\
Listening on {url}. Press Ctrl-C to stop.

The service must trust this receiver and be allowed to reach this machine:

  WEBHOOK_CA_BUNDLE={bundle} WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 make run

To receive a chatbot's events here:

  WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 .venv/bin/python manage.py configure_webhook \
CHATBOT_ID --url {url}{secret}

"""
CHECKING = (
    " --secret -\n\nThe command reads the secret from standard input: enter this receiver's secret."
)
CHECKING_NOTHING = """

The command prints the secret. Start this receiver again with --secret - and enter the secret.
The receiver then reports whether the token and the signature of each event are correct."""


def port(text: str) -> int:
    """Parse a port, where 0 means any free port. Raises ArgumentTypeError."""
    if not text.isdecimal() or len(text) > 5 or int(text) > 65_535:
        raise ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


def status(text: str) -> int:
    """Parse the status of a response. Raises ArgumentTypeError."""
    if not text.isdecimal() or len(text) != 3 or not 200 <= int(text) < 600:
        raise ArgumentTypeError(f"{text!r} is not a status from 200 to 599")
    return int(text)


def seconds(text: str) -> float:
    """Parse a duration in seconds. Raises ArgumentTypeError."""
    try:
        read = float(text)
    except ValueError:
        read = math.nan
    if not 0 <= read <= 3600:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 3600")
    return read


class Command(BaseCommand):
    """`webhook_sink [--secret -] [--status 500 --times 2]`."""

    help = (
        "Receive webhooks over HTTPS on 127.0.0.1, print each event, and verify its token and "
        "signature; the result does not change the response. Can simulate failures. "
        "Use it to develop receivers and to try out webhooks."
    )
    requires_system_checks = CHECKS

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=port, default=8443, help="0: any free port")
        parser.add_argument(
            "--secret",
            metavar="TEXT",
            help=f"secret to verify with, of at least {signing.MIN_LENGTH} characters; "
            "use - to read it from standard input",
        )
        parser.add_argument("--status", type=status, default=200, help="status of the response")
        parser.add_argument(
            "--delay",
            type=seconds,
            default=0.0,
            metavar="SECONDS",
            help="wait this long before each response; "
            f"the service times out after {settings.WEBHOOK_TIMEOUT:g} s",
        )
        parser.add_argument(
            "--times",
            type=positive,
            metavar="N",
            help="fail for this many requests, then respond with 200; requires a failure option",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per line")

    def handle(self, *_: str, **options: Any) -> None:
        """Receive requests until the command is stopped."""
        secret = _secret(options["secret"])
        behavior = _behavior(options)
        try:
            kept = certificates(settings.STATE_DIR / FOLDER)
        except OSError as error:
            raise CommandError(f"STATE_DIR: {error.filename}: {error.strerror}") from None
        try:
            sink = Sink(options["port"], chain=kept.server, behavior=behavior, secret=secret)
        except OSError as error:
            raise CommandError(
                f"cannot listen on port {options['port']} ({error.strerror}): "
                "choose another with --port"
            ) from None
        # SIGINT needs a handler too, because shells make background commands ignore SIGINT.
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, signal.default_int_handler)
        try:
            with sink:
                self.introduce(sink, kept, to=self.stderr if options["json"] else self.stdout)
                while True:
                    self.tell(sink.happened.get(), as_json=options["json"])
        except KeyboardInterrupt:
            self.stderr.write("Stopped.")

    def introduce(self, sink: Sink, kept: Certificates, *, to: Any) -> None:  # Any: untyped stream
        """Print the sink's URL, and how to make the service send events to it."""
        rest = CHECKING_NOTHING if sink.secret is None else CHECKING
        bundle = shlex.quote(str(kept.authority))
        to.write(INTRODUCTION.format(url=sink.url, bundle=bundle, secret=rest))
        to.flush()

    def tell(self, what: Arrival | Mishap, *, as_json: bool) -> None:
        """Print a request as text or JSON, or say why a connection or a request failed."""
        if isinstance(what, Mishap):
            self.stderr.write(what.text)
            return
        self.stdout.write(dumps(_record(what)).decode() if as_json else _lines(what))
        self.stdout.flush()


def _secret(given: str | None) -> str | None:
    secret = secret_given(given)
    try:
        if secret is not None:
            signing.check_secret(secret)
    except ValueError as error:
        raise CommandError(str(error)) from None
    return secret


def _behavior(options: dict[str, Any]) -> Behavior:
    behavior = Behavior(options["status"], options["delay"], options["times"])
    if options["times"] and behavior == Behavior(times=options["times"]):
        raise CommandError("--times requires a failure option: --status or --delay")
    return behavior


def _record(arrival: Arrival) -> dict[str, Any]:
    return {
        "number": arrival.number,
        "receivedAt": arrival.received_at,
        "path": arrival.path,
        "headers": arrival.headers,
        "event": arrival.event,
        "token": arrival.token,
        "signature": arrival.signature,
        "answer": str(arrival.behavior),
        "body": arrival.body.decode(errors="backslashreplace"),
    }


def _lines(arrival: Arrival) -> str:
    if arrival.event is None:
        shown = repr(arrival.body[:1000])
    else:
        shown = json.dumps(json.loads(arrival.body), indent=2, ensure_ascii=False)
    head = (
        f"{arrival.received_at.astimezone():%H:%M:%S} #{arrival.number} "
        f"{arrival.event or 'no event'}: token {arrival.token}, signature {arrival.signature}; "
        f"response: {arrival.behavior}"
    )
    headers = [f"{name}: {value}" for name, value in arrival.headers.items()]
    # Some of this text comes from visitors, so print nothing that could control the terminal.
    return "".join(f"{_harmless(line)}\n" for line in (head, *headers, *shown.split("\n")))


def _harmless(line: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
