"""`webhook_sink` runs as a separate process and receives requests from the delivery engine."""

import ipaddress
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from config.outbound.failures import Reason
from tests.patience import PATIENCE
from tests.servers.forks import Forked
from tests.servers.processes import wait_until
from webhooks import signing
from webhooks.engine.post import Outcome, post

SECRET = "a-secret-of-the-tests"
BODY = '{"event":"NEW_LEAD","data":{"chatbotName":"Grüße \U0001f600"}}'.encode()


Start = Callable[..., "RunningSink"]


class RunningSink:
    """A running `manage.py webhook_sink` on a free port, with its output."""

    def __init__(self, state_dir: Path, *options: str, given: str = "") -> None:
        self.state_dir = state_dir
        self.out, self.err, given_file = (state_dir / name for name in ("out", "err", "given"))
        for file in (self.out, self.err):
            file.write_text("")
        given_file.write_text(given)
        with given_file.open() as stdin:
            self.process = Forked(
                *("manage.py", "webhook_sink", "--port", "0", *options),
                environment=os.environ | {"STATE_DIR": str(state_dir), "PYTHONUNBUFFERED": "1"},
                out=self.out,
                err=self.err,
                stdin=stdin.fileno(),
            )

    @property
    def ca_file(self) -> str:
        return str(self.state_dir / "webhook_sink" / "ca.pem")

    @property
    def said(self) -> str:
        return self.out.read_text() + self.err.read_text()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def url(self) -> str:
        listening = re.compile(r"Listening on (https://\S+)\. ")
        wait_until(
            lambda: listening.search(self.said) or self.process.poll() is not None,
            told=lambda: self.said,
        )
        found = listening.search(self.said)
        assert found, self.said  # if nothing is found, the sink has exited
        return found[1]

    def wait_for(self, text: str) -> str:
        wait_until(lambda: text in self.said, told=lambda: self.said)
        return self.said

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@pytest.fixture
def start(tmp_path: Path, settings: Any) -> Iterator[Start]:
    """Return a function that starts a sink, and allow this process to send requests to it."""
    settings.WEBHOOK_ALLOWED_NETWORKS = (ipaddress.ip_network("127.0.0.0/8"),)
    running = []
    state_dir = tmp_path / "it's a state"  # a shell command must quote this name
    state_dir.mkdir()

    def begin(*options: str, given: str = "") -> RunningSink:
        sink = RunningSink(state_dir, *options, given=given)
        running.append(sink)
        settings.WEBHOOK_CA_BUNDLE = sink.ca_file
        return sink

    yield begin
    for sink in running:
        sink.process.kill()
        sink.process.wait()


def deliver(
    sink: RunningSink,
    *,
    body: bytes = BODY,
    signed: bytes | None = None,
    secret: str = SECRET,
    timeout: float = PATIENCE,
) -> Outcome:
    headers = signing.headers(body if signed is None else signed, secret)
    return post(sink.url(), body=body, headers=headers, timeout=timeout)


KNOWN = ["--secret", SECRET]


@pytest.mark.parametrize(
    ("options", "given", "sent", "verdict"),
    [
        (KNOWN, "", {}, ("ok", "ok")),
        (["--secret", "-"], f"{SECRET}\n", {}, ("ok", "ok")),
        (KNOWN, "", {"signed": b"{}"}, ("ok", "wrong")),
        (KNOWN, "", {"secret": "another-secret-of-tests"}, ("wrong", "wrong")),
        ([], "", {}, ("not checked", "not checked")),
    ],
    ids=["genuine", "secret from standard input", "tampered", "another secret", "no secret"],
)
@pytest.mark.proves("Request headers")
def test_a_delivery_is_printed_and_verified(
    start: Start, options: list[str], given: str, sent: dict[str, Any], verdict: tuple[str, str]
) -> None:
    sink = start(*options, given=given)
    assert deliver(sink, **sent).response_code == 200
    token, signature = verdict
    said = sink.wait_for(f"NEW_LEAD: token {token}, signature {signature}; response: 200")
    assert '"chatbotName": "Grüße \U0001f600"' in said
    sent_signature = signing.signature(sent.get("signed", BODY), sent.get("secret", SECRET))
    assert f"\nX-SIGNATURE: {sent_signature}\n" in said
    assert SECRET not in said


def test_the_json_output_contains_only_events_and_their_signed_bytes(start: Start) -> None:
    sink = start("--json", "--secret", SECRET)
    deliver(sink)
    deliver(sink, body=b"not JSON")
    wait_until(lambda: len(sink.events) == 2, told=lambda: sink.said)
    first, second = sink.events
    assert first["body"].encode() == BODY
    assert first["headers"] == {"X-SIGNATURE": signing.signature(BODY, SECRET)}
    assert SECRET not in sink.said
    assert (first["number"], first["event"], first["path"]) == (1, "NEW_LEAD", "/")
    assert (first["token"], first["signature"], first["answer"]) == ("ok", "ok", "200")
    assert (second["number"], second["event"], second["body"]) == (2, None, "not JSON")


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        pytest.param(["--status", "503"], 503, Reason.NONE, id="status"),
        pytest.param(["--status", "204"], 204, Reason.NONE, id="status without a body"),
        pytest.param(["--delay", "3600"], None, Reason.TIMEOUT, id="delay"),
    ],
)
@pytest.mark.proves("Delivery rules")
def test_it_fails_as_configured_and_still_prints_the_event(
    start: Start, options: list[str], code: int | None, reason: Reason
) -> None:
    sink = start("--json", *options)
    outcome = deliver(sink, timeout=3.0 if reason is Reason.TIMEOUT else PATIENCE)
    assert (outcome.response_code, outcome.reason) == (code, reason)
    wait_until(lambda: sink.events, told=lambda: sink.said)
    assert [event["body"].encode() for event in sink.events] == [BODY]


def test_text_written_by_a_visitor_cannot_control_the_terminal(start: Start) -> None:
    sink = start()
    body = '{"event":"NEW_LEAD\\n#2 NEW_LEAD","data":"\\u001b[2J\x9b2J\u202e"}'.encode()
    post(sink.url(), body=body, headers={"X-SIGNATURE": "\x1b[2J"}, timeout=PATIENCE)
    said = sink.wait_for("u202e")
    assert not {"\x1b", "\x9b", "\u202e"} & set(said)
    assert "\n#2" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_cleanly(start: Start, number: signal.Signals) -> None:
    sink = start()
    url = sink.url()
    assert f"configure_webhook CHATBOT_ID --url {url}\n" in sink.wait_for("Start this receiver")
    assert sink.stop(number) == 0
    assert "Traceback" not in sink.said
    assert "Stopped." in sink.said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--secret", "short"], "at least 16 characters"),
        (["--times", "2"], "--times requires a failure option"),
        (["--status", "99"], "not a number from 200 to 599"),
        (["--delay", "nan"], "not a number from 0 to 3600"),
        (["--port", "65536"], "not a number from 0 to 65535"),
    ],
)
def test_invalid_options_are_rejected_with_the_rule(options: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("webhook_sink", *options)
