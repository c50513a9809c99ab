"""The service does its main job: bots answer, people take over, and webhooks report both.

The test is end-to-end: it uses the processes of `make run` and a real HTTPS receiver.
"""

import hashlib
import hmac
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import requests

from tests.servers import certificates
from tests.servers.behaviors import Arrival, answer
from tests.servers.installation import Installation
from tests.servers.processes import wait_until
from tests.servers.receiver import Receiver

pytestmark = [
    pytest.mark.proves(
        "Endpoints", "Threads and messages", "Request headers", "Delivery rules", "Events"
    ),
    pytest.mark.timeout(600),
]

SECRET = "correct-horse-battery-staple"
KEY = re.compile(r"cbk_\w+")
# Seconds between attempts. CI uses 1,5,25, which is the default of WEBHOOK_RETRY_DELAYS.
DELAYS = os.environ.get("TEST_RETRY_DELAYS", "1,2,3")
LATE = 10.0  # a retry is less than this many seconds late, even on a busy machine


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation(tmp_path_factory.mktemp("installation")) as made:
        made.environment["WEBHOOK_RETRY_DELAYS"] = DELAYS
        if made.server:  # only the embedded default sets up its own database
            made.command("migrate", "-v0")
            made.command("seed_demo", "--json")
        yield made


class Caller:
    """An API caller that authenticates with a key."""

    def __init__(self, installation: Installation, key: str) -> None:
        self.base = f"{installation.address}/api"
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {key}"

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        answered = self.session.request(method, f"{self.base}{path}", json=body, timeout=60)
        assert answered.status_code == 200, answered.text
        return answered.json()["data"]


class Staff:
    """A signed-in member of staff who opens pages and submits forms like a browser."""

    def __init__(self, installation: Installation, email: str, password: str) -> None:
        self.admin = f"{installation.address}/admin"
        self.session = requests.Session()
        self.submit("/login/", "/login/", username=email, password=password)

    def page(self, path: str) -> str:
        answered = self.session.get(f"{self.admin}{path}", timeout=60)
        assert answered.status_code == 200, (path, answered.status_code)
        return answered.text

    def submit(self, page: str, action: str, **fields: str) -> str:
        self.page(page)
        answered = self.session.post(
            f"{self.admin}{action}",
            data=fields | {"csrfmiddlewaretoken": self.session.cookies["csrftoken"]},
            headers={"Referer": f"{self.admin}{page}"},
            timeout=60,
        )
        assert answered.status_code == 200, (action, answered.status_code, answered.text[:500])
        return answered.text


def check_request(arrival: Arrival) -> dict[str, Any]:
    """Assert that a webhook has the right method, headers and envelope, and return its body."""
    digest = hmac.new(SECRET.encode(), arrival.body, hashlib.sha256).hexdigest()
    expected = {
        "Content-Type": "application/json",
        "X-WEBHOOK-TOKEN": SECRET,
        "X-SIGNATURE": f"sha256={digest}",
        "User-Agent": "Service-Webhooks/1.0",
    }
    assert {name: arrival.header(name) for name in expected} == expected
    assert arrival.method == "POST"
    event: dict[str, Any] = json.loads(arrival.body)
    assert list(event) == ["event", "data"]
    return event


@dataclass
class Job:
    """The service, caller, receiver, login, bot and thread that the steps of the test share."""

    installation: Installation
    call: Caller
    receiver: Receiver
    email: str
    password: str
    bot: str = ""
    thread: str = ""

    @property
    def here(self) -> str:
        return f"/v1/chatting/{self.bot}/thread/{self.thread}"

    def told(self, count: int) -> list[dict[str, Any]]:
        """Wait for this many webhooks, check them, and return their bodies."""
        return [check_request(one) for one in self.receiver.wait_for(count)]


def begin(installation: Installation, receiver: Receiver) -> Job:
    """Start the service, and return a Job with an API key and a login.

    With the embedded default, the service prints the key and the login. With PostgreSQL and Redis,
    `seed_demo` prints them.
    """
    welcome = installation.start()
    if installation.server:  # only the embedded default prints a key
        record = installation.command("seed_demo", "--json")
        call = Caller(installation, record["accounts"][0]["users"][0]["apiKey"])
        return Job(installation, call, receiver, record["adminEmail"], record["adminPassword"])
    call = Caller(installation, KEY.findall(welcome)[0])
    found = re.search(r"^  Email +(\S+)\n  Password +(\S+)$", welcome, re.M)
    assert found
    return Job(installation, call, receiver, *found.groups())


def create_list_and_update_a_chatbot(job: Job) -> None:
    call = job.call
    account = call("GET", "/v1/chatbots/my-chatbots")["accounts"][0]["accountId"]
    body = {"name": "Porter", "description": "Knows the house"}
    path = f"/v1/chatbots/account/{account}"
    job.bot = call("POST", f"{path}/create-chatbot", body)["chatbotId"]
    listings = [
        [
            bot
            for one in call("GET", "/v1/chatbots/my-chatbots")["accounts"]
            for bot in one["chatbots"]
        ],
        call("GET", f"{path}/all-chatbots")["chatbots"],
        call("GET", "/v1/chatbots?limit=100")["chatbots"],
    ]
    for listing in listings:
        assert job.bot in [one["chatbotId"] for one in listing]
    changed = call("PATCH", f"{path}/chatbot/{job.bot}", {"name": "Doorman"})
    assert changed["name"] == "Doorman"
    call("POST", f"/v1/chatbots/chatbot/{job.bot}/lead-settings", {"enableLeadCollection": True})


def configure_a_webhook(job: Job) -> None:
    url = job.receiver.url("/hook")
    words = ("configure_webhook", job.bot, "--url", url, "--secret", "-", "--json")
    assert SECRET not in json.dumps(job.installation.command(*words, given=SECRET))


def talk_and_page_back(job: Job) -> None:
    call = job.call
    job.thread = call("POST", f"/v1/chatting/{job.bot}/threads", {})["thread"]["id"]
    sent = call("POST", f"{job.here}/message", {"content": "Is it open?"})
    asked, replied = sent["messages"]
    assert (replied["messageType"], replied["parentMessageId"]) == ("AI_MESSAGE", asked["id"])
    newest = call("GET", f"{job.here}/messages?limit=1")
    assert [one["id"] for one in newest["messages"]] == [replied["id"]]
    older = call("GET", f"{job.here}/messages?before={newest['pagination']['nextCursor']}")
    assert [one["id"] for one in older["messages"]] == [asked["id"]]
    assert [(one["event"], one["data"]["messageId"]) for one in job.told(2)] == [
        ("NEW_MESSAGE", asked["id"]),
        ("NEW_MESSAGE", replied["id"]),
    ]


def escalate_answer_as_staff_and_return(job: Job) -> Staff:
    call = job.call
    assert call("PATCH", f"{job.here}/escalate")["thread"]["escalated"] is True
    assert len(call("POST", f"{job.here}/message", {"content": "Hello?"})["messages"]) == 1
    staff = Staff(job.installation, job.email, job.password)
    where = f"/conversations/thread/{job.thread}"
    staff.submit(f"{where}/change/", f"{where}/reply/", content="A person here.")
    history = call("GET", f"{job.here}/messages")
    newest = history["messages"][0]
    assert (newest["messageType"], newest["content"]) == ("AGENT_MESSAGE", "A person here.")
    assert history["thread"]["mode"] == "AGENT"
    contact = {"threadId": job.thread, "visitorEmail": "anna@example.com"}
    call("PATCH", f"/v1/chatting/{job.bot}/thread/update-thread", contact)
    assert call("POST", f"{job.here}/escalate")["thread"]["escalated"] is False
    told = job.told(6)[2:]
    assert [(one["event"], one["data"].get("role")) for one in told] == [
        ("CONVERSATION_ESCALATED", None),
        ("NEW_MESSAGE", "user"),
        ("NEW_MESSAGE", "agent"),
        ("NEW_LEAD", None),
    ]
    assert told[3]["data"]["leadDetails"]["email"] == "anna@example.com"
    return staff


def fail_four_times_and_succeed_on_a_manual_retry(job: Job, staff: Staff) -> None:
    job.receiver.on("/hook", answer(503, b"upstream down"))
    job.call("PATCH", f"{job.here}/escalate")
    attempts = job.receiver.wait_for(10, 120)[6:]
    assert {one.body for one in attempts} == {attempts[0].body}
    check_request(attempts[0])
    moments = [one.monotonic for one in attempts]
    gaps = [later - sooner for sooner, later in pairwise(moments)]
    delays = map(float, DELAYS.split(","))
    assert all(delay <= gap < delay + LATE for gap, delay in zip(gaps, delays, strict=True)), gaps
    row = re.compile(r"/admin/webhooks/delivery/([0-9a-f-]{36})/change/")
    found = wait_until(lambda: row.search(staff.page("/webhooks/delivery/?state__exact=FAILED")))
    where = f"/webhooks/delivery/{found[1]}"
    page = staff.page(f"{where}/change/")
    assert page.count("503") >= 4
    assert "upstream down" in page
    assert SECRET not in page
    job.receiver.on("/hook", answer(204))
    staff.submit(f"{where}/change/", f"{where}/retry/")
    assert job.receiver.wait_for(11)[10].body == attempts[0].body
    wait_until(lambda: "SUCCESS" in staff.page(f"{where}/change/"))
    assert len(job.receiver.arrivals) == 11


def stop_and_find_all_again(job: Job) -> None:
    said = job.call("GET", f"{job.here}/messages?limit=100")
    began = time.monotonic()
    assert job.installation.interrupt() == 0
    assert time.monotonic() - began < 30
    with pytest.raises(requests.ConnectionError):
        job.call("GET", "/v1/chatbots/my-chatbots")
    printed = KEY.findall(job.installation.start())
    again = Caller(job.installation, printed[0]) if printed else job.call
    assert again("GET", f"{job.here}/messages?limit=100") == said
    assert again("GET", job.here)["thread"]["visitorEmail"] == "anna@example.com"
    path = f"{job.call.base}/v1/chatbots/my-chatbots"
    old = requests.get(path, headers=job.call.session.headers, timeout=60)
    # A restart invalidates the key that the previous start printed, but no other keys.
    assert old.status_code == (401 if printed else 200)
    assert job.installation.interrupt() == 0
    assert SECRET not in job.installation.said()


def test_the_service_does_its_main_job_from_end_to_end(
    installation: Installation,
) -> None:
    with Receiver(certificates.good()) as receiver:
        job = begin(installation, receiver)
        create_list_and_update_a_chatbot(job)
        configure_a_webhook(job)
        talk_and_page_back(job)
        staff = escalate_answer_as_staff_and_return(job)
        fail_four_times_and_succeed_on_a_manual_retry(job, staff)
        stop_and_find_all_again(job)
