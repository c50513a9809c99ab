"""Use a hundred secrets in every way that the service supports, and check that none leaks."""

import base64
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
import redis
import requests
from django.conf import settings
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.services import api_key as keys
from chatbots.models import Chatbot, GeneralSettings, LlmModel
from config.admin.export import FORMATS
from tests.admin_urls import routes
from tests.contract.operations import OPERATIONS, filled, ids_of
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory
from tests.factories.staff import signed_in, superuser
from tests.groups import needs
from tests.servers import certificates
from tests.servers.behaviors import Arrival, Behavior, Step, head
from tests.servers.model import ModelServer, saying
from tests.servers.processes import Web, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Delivery
from webhooks.services import endpoint as endpoints

pytestmark = [
    pytest.mark.proves("Authentication", "Events"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),  # starting three processes is slow on a busy machine
]

EACH = 25  # number of secrets of each of the four kinds
WRONG, RIGHT = slice(0, 23), slice(23, EACH)  # the wrong passwords and the right passwords
OURS = token_hex(8)  # keeps tests on the same machine from finding each other's canaries
SECRET = re.compile(rf"cbk_[0-9A-Za-z]{{8}}_[0-9A-Za-z]{{49}}|canary-[a-z]+-\d\d-{OURS}")
THE_END = "all was heard"


class Service(Web):
    """The whole service, as started by `make run`: supervisor, web and worker with a shared log."""

    command = ("manage.py", "serve")

    def __exit__(self, *_: object) -> None:
        self.stop()


class Sown:
    """The secrets that this test uses, grouped by kind."""

    def __init__(self, owner: User) -> None:
        self.api_keys = [keys.issue(owner, label=f"key {number}")[1] for number in range(EACH)]
        self.webhooks = [canary("webhook", number) for number in range(EACH)]
        self.passwords = [canary("password", number) for number in range(EACH)]
        self.models = {f"LLM_API_KEY_{n}": canary("model", n) for n in range(EACH)}

    def all(self) -> list[str]:
        return [*self.api_keys, *self.webhooks, *self.passwords, *self.models.values()]

    def found_in(self, text: str) -> set[str]:
        """Return the secrets that a string contains in plain text, hex or base64."""
        return {found for read in (text, *decoded(text)) for found in SECRET.findall(read)} & {
            *self.all()
        }


def canary(kind: str, number: int) -> str:
    """Build a secret that cannot occur by chance."""
    return f"canary-{kind}-{number:02d}-{OURS}"


def decoded(text: str) -> Iterator[str]:
    """Decode and yield the parts of a string that look like hex or base64."""
    for run in re.findall(r"[0-9a-f]{40,}", text):
        yield bytes.fromhex(run[: len(run) // 2 * 2]).decode("latin-1")
    for run in re.findall(r"[0-9A-Za-z+/]{40,}", text):
        for ahead in range(4):  # groups of four base64 digits may begin at any of these offsets
            coded = run[ahead:]
            yield base64.b64decode(coded[: len(coded) // 4 * 4]).decode("latin-1")


def quoting(status: int, name: str) -> Behavior:
    """Return a behavior that echoes a header of the request, as a debug page does."""

    def behavior(arrival: Arrival) -> Iterator[Step]:
        said = arrival.header(name) or ""
        yield head(status, f"X-Said: {said}", length=len(said)) + said.encode()

    return behavior


class Talk:
    """Uses the secrets as an owner would: in API calls, sign-ins, model calls and webhooks."""

    def __init__(self, service: Service, sown: Sown, chatbot: Chatbot) -> None:
        self.service, self.sown, self.chatbot = service, sown, chatbot
        self.said: list[str] = []  # headers and bodies of all responses

    def call(self, method: str, path: str, key: str, **given: Any) -> int:
        """Call the API with a key, record the response, and return its status."""
        headers = {"Authorization": f"Bearer {key}"}
        answer = requests.request(
            method, f"{self.service.address}{path}", headers=headers, timeout=30, **given
        )
        self.said.append(f"{answer.headers} {answer.text}")
        return answer.status_code

    def converse(self, model: ModelServer, receiver: Receiver) -> None:
        """For each API key, create a chatbot with a model key and a webhook, and send it a message.

        Each message must be accepted.
        """
        for number, key in enumerate(self.sown.api_keys):
            chatbot = ChatbotFactory(account=self.chatbot.account)
            name = f"LLM_API_KEY_{number}"
            row = LlmModel.objects.create(
                provider="openai", title=name, base_url=model.base_url, key_variable=name
            )
            GeneralSettings.objects.filter(chatbot=chatbot).update(llm_model=row)
            path = f"/{number}"
            receiver.on(path, quoting(500, "X-WEBHOOK-TOKEN"), quoting(200, "X-WEBHOOK-TOKEN"))
            self.configure(chatbot, url=receiver.url(path), number=number)
            thread = ThreadFactory(chatbot=chatbot)
            here = f"/api/v1/chatting/{chatbot.pk}/thread/{thread.pk}/message"
            assert self.call("POST", here, key, json={"content": "Hi"}) == 200

    def configure(self, chatbot: Chatbot, *, url: str, number: int) -> None:
        """Configure a chatbot's webhook, in the admin if `number` is 0, and otherwise directly."""
        secret = self.sown.webhooks[number]
        page = webhook_page(chatbot)
        form = {"url": url, "events": ["NEW_MESSAGE"], "is_active": "on", "secret_choice": "own"}
        form |= {"secret": secret}
        staff = signed_in(superuser())
        if number == 0:
            self.said.append(staff.post(page, form | {"url": "http://x"}).content.decode())
            staff.post(page, form)  # not recorded, because this response may show the secret
            self.said.append(staff.get(page).content.decode())
        else:
            endpoints.configure(chatbot, url=url, secret=secret)

    def use_everything(self) -> None:
        """Call every operation with good and bad input, and request some unknown paths.

        The first three responses of each operation must have the expected statuses.
        """
        ids = ids_of(self.chatbot)
        for number, operation in enumerate(OPERATIONS):
            key = self.sown.api_keys[number % EACH]
            path = f"/api{operation.path.format(**ids)}"
            body = {name: filled(each, ids) for name, each in (operation.body or {}).items()}
            statuses = [
                self.call(operation.method, path, key, json=body or None),
                self.call(operation.method, f"{path}?key={key}", f"{key}x"),
                self.call(operation.method, f"{path}/{key}", key, data=b"{"),
            ]
            assert statuses[:2] == [200, 401], operation
            assert statuses[2] in (404, 405), operation
            self.call("POST", path, key, data=b"{")

    def sign_in(self, name: str, password: str) -> int:
        """Sign in to the admin, record the response, and return its status."""
        page, address = requests.Session(), f"{self.service.address}/admin/login/"
        token = page.get(address, timeout=30).cookies["csrftoken"]
        form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
        answer = page.post(address, data=form, timeout=30, allow_redirects=False)
        self.said.append(f"{answer.headers} {answer.text}")
        return answer.status_code

    def sign_in_with_all(self) -> None:
        """Try all wrong passwords with one email address, and each right password with a new user.

        The right passwords must be accepted, and the wrong passwords rejected.
        """
        wrong = {self.sign_in("a@example.com", one) for one in self.sown.passwords[WRONG]}
        assert wrong == {200}
        for password in self.sown.passwords[RIGHT]:
            user = MembershipFactory(account=self.chatbot.account).user
            user.set_password(password)
            user.save()
            assert self.sign_in(user.email, password) == 302

    def meet_errors(self) -> None:
        """Call the API and try to sign in while the users table is missing.

        Each response must be a 500.
        """
        with away(User._meta.db_table):
            for key, password in zip(self.sown.api_keys[:3], self.sown.passwords, strict=False):
                assert self.call("GET", "/api/v1/chatbots", key) == 500
                assert self.sign_in("b@example.com", password) == 500


@contextmanager
def away(table: str) -> Iterator[None]:
    """Rename a table within the block, so that it seems to be missing."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO away")
        try:
            yield
        finally:
            cursor.execute(f"ALTER TABLE away RENAME TO {table}")


def stored() -> str:
    """Return everything that is stored in the database. On SQLite, this includes deleted rows."""
    if connection.vendor == "sqlite":
        path = Path(connection.settings_dict["NAME"])
        files = [str(each) for each in path.parent.glob(f"{path.name}*")]
        # Use another process, because closing the files would release this process's locks.
        return subprocess.run(["cat", *files], capture_output=True).stdout.decode("latin-1")
    given = connection.get_connection_params()
    url = " ".join(
        f"{name}={given[name]}" for name in ("dbname", "user", "host", "port") if given.get(name)
    )
    dump = [needs("pg_dump"), "--data-only", "--dbname", url]
    return subprocess.run(dump, capture_output=True, check=True).stdout.decode("latin-1")


def pages() -> str:
    """Return the text of the admin's home page, webhook pages, lists and exports.

    The text also includes the change page and history page of each model's newest row.
    """
    client: Client = signed_in(superuser())
    addresses = [reverse("admin:index"), *map(webhook_page, Chatbot.objects.all()[:2])]
    for route, held in routes(admin.site.get_urls()):
        if held == {"kind"}:
            addresses += [reverse(f"admin:{route}", args=[kind]) for kind in FORMATS]
    for model in admin.site._registry:
        name = model._meta.label_lower.replace(".", "_")
        addresses.append(reverse(f"admin:{name}_changelist"))
        for row in model._default_manager.order_by("-pk")[:1]:
            pages = ("change", "history")
            addresses += [reverse(f"admin:{name}_{page}", args=[row.pk]) for page in pages]
    answers = [client.get(address, follow=True) for address in addresses]
    return b"".join(b"".join(answer) for answer in answers).decode()


def webhook_page(chatbot: Chatbot) -> str:
    return reverse("admin:webhooks_endpoint_of", args=[chatbot.pk])


def command_lines() -> str:
    """Return the command-line arguments of all processes on this machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            lines.append(path.read_bytes().replace(b"\0", b" "))
    return b"\n".join(lines).decode("latin-1")


@contextmanager
def overheard() -> Iterator[list[str]]:
    """Record every command that reaches Redis, including Celery's messages.

    The embedded default has no Redis and keeps messages in the worker, so nothing is recorded.
    """
    heard: list[str] = []
    if not settings.REDIS_URL:
        yield heard
        return
    server = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=None)

    def listen(monitor: Any) -> None:
        for command in monitor.listen():
            heard.append(command["command"])
            if THE_END in command["command"]:
                return

    with server.monitor() as monitor:
        listener = threading.Thread(target=listen, args=[monitor], daemon=True)
        listener.start()
        yield heard
        server.echo(THE_END)
        listener.join(60)
        assert THE_END in heard[-1]


def test_no_secret_appears_in_any_output(chatbot: Chatbot) -> None:
    sown = Sown(chatbot.account.owner)
    for ahead in ("", "x", "xy", "xyz"):
        planted = sown.webhooks[0]
        coded = base64.b64encode(f"{ahead}{planted} and more".encode()).decode()
        assert sown.found_in(f'{{"body": "{coded}"}}') == {planted}
    model, receiver = ModelServer(), Receiver(certificates.good())
    model.say(*[quoting(401, "Authorization")] * 3, saying("Hello."))
    quick = {"WEBHOOK_RETRY_DELAYS": "0.1,0.1,0.1"}
    with model, receiver, overheard() as heard, Service(**sown.models, **quick) as service:
        talk = Talk(service, sown, chatbot)
        talk.converse(model, receiver)
        talk.use_everything()
        talk.sign_in_with_all()
        talk.meet_errors()
        wait_until(lambda: not Delivery.objects.filter(due_at__isnull=False).exists())
        said = {
            "a response": "".join(talk.said),
            "OpenAPI": requests.get(f"{service.address}/openapi.json", timeout=20).text,
            "metrics": requests.get(f"{service.address}/metrics", timeout=20).text,
            "the admin": pages(),
            "the arguments of a process": command_lines(),
            "the database": stored(),
        }
    told = {arrival.header("Authorization") for arrival in model.arrivals}
    assert told == {f"Bearer {secret}" for secret in sown.models.values()}
    assert {arrival.header("X-WEBHOOK-TOKEN") for arrival in receiver.arrivals} == {*sown.webhooks}
    said |= {"the log": service.said(), "Redis": "\n".join(heard)}
    found = {place: sown.found_in(text) for place, text in said.items()}
    assert not {place: secrets for place, secrets in found.items() if secrets}
