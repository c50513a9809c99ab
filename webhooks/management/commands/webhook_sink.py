"""Receive webhooks on this machine, to inspect and verify them."""

import json
import math
import shlex
import signal
import threading
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.api.strict_json import dumps
from config.runtime.commands import positive
from webhooks import signing
from webhooks.management.secret import secret_given
from webhooks.sink import CERTIFICATE, Behavior, Record, Sink, make_certificate

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


def number(kind: type[int] | type[float], most: int, least: int = 0) -> Callable[[str], float]:
    """Return a parser of numbers from `least` to `most`, which raises ArgumentTypeError."""

    def parse(text: str) -> float:
        try:
            read: float = kind(text)
        except ValueError:
            read = math.nan
        if not least <= read <= most:
            raise ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return read

    return parse


class Command(BaseCommand):
    """`webhook_sink [--secret -] [--status 500 --times 2]`."""

    help = (
        "Receive webhooks over HTTPS on 127.0.0.1, print each event, and verify its token and "
        "signature; the result does not change the response. Can simulate failures. "
        "Use it to develop receivers and to try out webhooks."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=number(int, 65_535), default=8443, help="0: any free port"
        )
        parser.add_argument(
            "--secret",
            metavar="TEXT",
            help=f"secret to verify with, of at least {signing.MIN_LENGTH} characters; "
            "use - to read it from standard input",
        )
        parser.add_argument(
            "--status", type=number(int, 599, 200), default=200, help="status of the response"
        )
        parser.add_argument(
            "--delay",
            type=number(float, 3600),
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
        folder = settings.STATE_DIR / FOLDER
        try:
            make_certificate(folder)
        except OSError as error:
            raise CommandError(f"STATE_DIR: {error.filename}: {error.strerror}") from None
        lock = threading.Lock()

        def arrived(record: Record) -> None:
            with lock:
                self.stdout.write(dumps(record).decode() if options["json"] else _lines(record))
                self.stdout.flush()

        try:
            sink = Sink(
                options["port"],
                folder=folder,
                behavior=behavior,
                secret=secret,
                arrived=arrived,
                refused=self.stderr.write,
            )
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
                self.introduce(sink, folder, to=self.stderr if options["json"] else self.stdout)
                sink.serve_forever()
        except KeyboardInterrupt:
            self.stderr.write("Stopped.")

    def introduce(self, sink: Sink, folder: Path, *, to: Any) -> None:  # Any: untyped stream
        """Print the sink's URL, and how to make the service send events to it."""
        rest = CHECKING_NOTHING if sink.secret is None else CHECKING
        bundle = shlex.quote(str(folder / CERTIFICATE))
        to.write(INTRODUCTION.format(url=sink.url, bundle=bundle, secret=rest))
        to.flush()


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


def _lines(record: Record) -> str:
    """Format a record for a terminal, with the body indented if it is an event."""
    event, shown = record["event"], repr(record["body"][:1000])
    if event is not None:
        shown = json.dumps(json.loads(record["body"]), indent=2, ensure_ascii=False)
    head = (
        f"{record['receivedAt'].astimezone():%H:%M:%S} #{record['number']} "
        f"{event or 'no event'}: token {record['token']}, signature {record['signature']}; "
        f"response: {record['answer']}"
    )
    headers = [f"{name}: {value}" for name, value in record["headers"].items()]
    # Some of this text comes from visitors, so print nothing that could control the terminal.
    return "".join(f"{_harmless(line)}\n" for line in (head, *headers, *shown.split("\n")))


def _harmless(line: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
