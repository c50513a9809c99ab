"""docs/webhooks.md describes requests correctly, and its samples accept only genuine requests."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from config.database.ids import new_id
from tests.groups import needs
from tests.house.source import ROOT
from webhooks import payloads, signing
from webhooks.payloads import Event, NewMessage

SAMPLES = ROOT / "docs" / "samples"
DOCUMENT = (ROOT / "docs" / "webhooks.md").read_text()
SECRET = "sixteen-letters!"
FIXED = '{"event":"NEW_LEAD","data":{"chatbotName":"Pförtner 7"}}'.encode()
SAID = 'Grüße, 你好, \U0001f600 "quoted" \\ back\nnext\u2028line\x7f </script>\x00'
UUID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

Command = list[str]


def of_go(folder: Path) -> Command:
    """Compile the Go sample once for all tests, and return the command that runs it."""
    program = str(folder / "verify")
    alone = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    build = [needs("go"), "build", "-o", program, "verify.go"]
    subprocess.run(build, cwd=SAMPLES, env=os.environ | alone, check=True)
    return [program]


def of_shell(_: Path) -> Command:
    needs("openssl")
    return ["sh", "verify.sh"]


LANGUAGES: dict[str, tuple[Callable[[Path], Command], str]] = {
    "python": (lambda _: [sys.executable, "verify.py"], "verify.py"),
    "js": (lambda _: [needs("node"), "verify.mjs"], "verify.mjs"),
    "php": (lambda _: [needs("php"), "verify.php"], "verify.php"),
    "ruby": (lambda _: [needs("ruby"), "verify.rb"], "verify.rb"),
    "go": (of_go, "verify.go"),
    "sh": (of_shell, "verify.sh"),
}


@pytest.fixture(scope="module", params=LANGUAGES)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command that runs a language's sample."""
    return LANGUAGES[request.param][0](tmp_path_factory.mktemp(request.param))


def accepts(sample: Command, body: bytes, *signature: str, secret: str | None = SECRET) -> bool:
    environment = {name: value for name, value in os.environ.items() if name != "WEBHOOK_SECRET"}
    if secret is not None:
        environment["WEBHOOK_SECRET"] = secret
    done = subprocess.run(
        [*sample, *signature], cwd=SAMPLES, env=environment, input=body, capture_output=True
    )
    assert done.returncode in (0, 1), done.stderr
    assert bool(done.stderr) == (not secret), "only a missing secret is reported on stderr"
    return done.returncode == 0


def sample_of(event: Event) -> payloads.Data:
    context = payloads.Context(new_id(), "Pförtner", dashboard_url="http://127.0.0.1:8000/")
    return payloads.KINDS[event].sample(context)


def spoken() -> bytes:
    """Return a message event's body with characters that JSON libraries escape differently."""
    message = sample_of(Event.NEW_MESSAGE)
    assert isinstance(message, NewMessage)
    return payloads.body(replace(message, role="assistant", question=None, answer=SAID))


def signature_of(body: bytes, secret: str = SECRET) -> str:
    return signing.headers(body, secret)["X-SIGNATURE"]


@pytest.mark.proves("Request headers")
def test_a_sample_accepts_a_genuine_request(sample: Command) -> None:
    for body in (*(payloads.body(sample_of(event)) for event in Event), spoken()):
        assert accepts(sample, body, signature_of(body)), body


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param("-hmac" + "x" * 16, id="option-like"),
        pytest.param("$HOME`id`'\"\\*;&|<%s\\n", id="script-like"),
        pytest.param("~" * 256, id="longest"),
    ],
)
def test_a_sample_accepts_every_valid_secret(sample: Command, secret: str) -> None:
    signing.check_secret(secret)
    assert accepts(sample, FIXED, signature_of(FIXED, secret), secret=secret)


GENUINE = signature_of(FIXED)
FORGED: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "changed byte": (FIXED.replace(b"7", b"8"), (GENUINE,)),
    "extra line break": (FIXED + b"\n", (GENUINE,)),
    "missing byte": (FIXED[:-1], (GENUINE,)),
    "empty body": (b"", (GENUINE,)),
    "another secret": (FIXED, (signature_of(FIXED, "another-secret!!"),)),
    "without sha256=": (FIXED, (GENUINE.removeprefix("sha256="),)),
    "missing digit": (FIXED, (GENUINE[:-1],)),
    "extra digit": (FIXED, (GENUINE + "0",)),
    "another algorithm": (FIXED, (GENUINE.replace("sha256", "sha512"),)),
    "empty signature": (FIXED, ("",)),
    "only the prefix": (FIXED, ("sha256=",)),
    "not ASCII": (FIXED, ("sha256=é\udce9",)),
    "no signature": (FIXED, ()),
}


def test_a_sample_rejects_a_forged_request_and_any_request_without_a_secret(
    sample: Command,
) -> None:
    accepted = [name for name, (body, given) in FORGED.items() if accepts(sample, body, *given)]
    assert not accepted
    for secret in (None, ""):
        assert not accepts(sample, FIXED, signature_of(FIXED, ""), secret=secret)


def test_the_document_contains_each_sample_unchanged_and_each_sample_is_tested() -> None:
    for language, (_, name) in LANGUAGES.items():
        assert f"```{language}\n{(SAMPLES / name).read_text()}```" in DOCUMENT, name
    assert {path.name for path in SAMPLES.iterdir()} == {name for _, name in LANGUAGES.values()}


@pytest.mark.proves("Body shapes")
@pytest.mark.parametrize("event", Event)
def test_the_document_shows_the_bodies_that_are_sent(event: Event) -> None:
    [shown] = re.findall(rf"^### {event}\n.*?^```json\n(.*?)^```", DOCUMENT, re.M | re.S)
    data = json.loads(shown)["data"]
    context = payloads.Context(
        chatbot_id=new_id(),
        chatbot_name=data.get("chatbotName", ""),
        dashboard_url=data.get("dashboardUrl", ""),
    )
    sent = payloads.KINDS[event].sample(context)
    written = json.dumps(json.loads(shown), ensure_ascii=False, separators=(",", ":"))
    assert without_chance(written.encode()) == without_chance(payloads.body(sent))


def without_chance(body: bytes) -> bytes:
    """Replace the parts of a body that vary from run to run: ids and times."""
    return TIME.sub(b"<time>", UUID.sub(b"<id>", body))


@pytest.mark.proves("Request headers")
def test_the_document_names_every_header() -> None:
    table = re.findall(r"^\| `([\w-]+)` \| ", DOCUMENT, re.M)
    assert table == list(signing.headers(b"{}", SECRET))


def test_the_documented_command_to_try_a_sample_works_unchanged() -> None:
    needs("openssl")
    [line] = re.findall(r"^```sh\n(printf .*?)^```", DOCUMENT, re.M | re.S)
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "genuine\n", done.stderr
