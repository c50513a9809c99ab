"""A hundred secrets go every way that secrets go; afterwards they are found nowhere."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import redis
import requests
from django.conf import settings
from django.db import connection
from django.test import Client

from accounts.services import api_key as keys
from chatbots.models import Chatbot, GeneralSettings, LlmModel
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.factories.staff import signed_in, superuser
from tests.groups import needs
from tests.servers.model import ModelServer, saying
from tests.servers.processes import Web
from webhooks.services import endpoint as endpoints

EACH = 25  # of four kinds
HERE = "canary"


def canary(kind: str, number: int) -> str:
    """Write a secret that occurs nowhere by chance."""
    return f"{HERE}-{kind}-{number:02d}-hKq7Zr2XwV9"


@pytest.fixture
def model() -> Any:
    with ModelServer() as server:
        server.say(saying("Hello."))
        yield server


class Sown:
    """The secrets, by kind."""

    def __init__(self, chatbot: Chatbot) -> None:
        owner = chatbot.account.owner
        self.api_keys = [keys.issue(owner, label=f"key {number}")[1] for number in range(EACH)]
        self.webhook = [canary("webhook", number) for number in range(EACH)]
        self.models = {f"LLM_API_KEY_{n}": canary("model", n) for n in range(EACH)}
        self.passwords = [canary("password", number) for number in range(EACH)]

    def all(self) -> list[str]:
        return [*self.api_keys, *self.webhook, *self.models.values(), *self.passwords]


def talk(web: Web, sown: Sown, chatbot: Chatbot, model: ModelServer) -> None:
    """Use every secret, rightly and wrongly."""
    thread = ThreadFactory(chatbot=chatbot)
    here = f"{web.address}/api/v1/chatting/{chatbot.pk}/thread/{thread.pk}"
    for number, key in enumerate(sown.api_keys):
        headers = {"Authorization": f"Bearer {key}"}
        name = f"LLM_API_KEY_{number}"
        row = LlmModel.objects.create(
            provider="openai", title=f"M{number}", base_url=model.base_url, key_variable=name
        )
        GeneralSettings.objects.filter(chatbot=chatbot).update(llm_model=row)
        endpoints.configure(chatbot, url="https://127.0.0.1:9/x", secret=sown.webhook[number])
        answers = [
            requests.post(f"{here}/message", json={"content": "Hi"}, headers=headers, timeout=20),
            requests.get(f"{here}", headers=headers, timeout=20),
            requests.post(f"{here}/message", data=b"{", headers=headers, timeout=20),
            requests.get(f"{web.address}/api/v1/chatbots", params={"key": key}, timeout=20),
            requests.get(f"{web.address}/api/v1/nowhere", headers=headers, timeout=20),
            requests.get(f"{here}x", headers={"Authorization": f"Bearer {key}x"}, timeout=20),
        ]
        assert [each.status_code for each in answers] == [200, 200, 400, 401, 404, 401]
        for each in answers:
            found(sown, each.text, "an answer")
    for password in sown.passwords:
        page = requests.Session()
        form = page.get(f"{web.address}/admin/login/", timeout=20)
        token = form.cookies["csrftoken"]
        body = {"username": "a@example.com", "password": password, "csrfmiddlewaretoken": token}
        answer = page.post(f"{web.address}/admin/login/", data=body, timeout=20)
        found(sown, answer.text, "the sign-in page")


def found(sown: Sown, text: str, where: str) -> None:
    """Fail where a text holds a secret."""
    assert not [secret for secret in sown.all() if secret in text], where


def stored_bytes() -> str:
    """Read all that the database keeps."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # By another process: one that closes the file loses the locks that it holds on it.
        read = subprocess.run(["cat", str(connection.settings_dict["NAME"])], capture_output=True)
        return read.stdout.decode("latin-1")
    dump = [needs("pg_dump"), "--data-only", "--dbname"]
    given = connection.get_connection_params()
    url = " ".join(
        f"{name}={given[name]}" for name in ("dbname", "user", "host", "port") if given.get(name)
    )
    return subprocess.run([*dump, url], capture_output=True, check=True).stdout.decode("latin-1")


def admin_pages(chatbot: Chatbot) -> str:
    """Read the pages of the admin that secrets belong to."""
    client: Client = signed_in(superuser())
    paths = ["", "accounts/apikey/", "chatbots/llmmodel/", f"chatbots/chatbot/{chatbot.pk}/change/"]
    paths += [f"chatbots/llmmodel/{row.pk}/change/" for row in LlmModel.objects.all()[:5]]
    return "".join(client.get(f"/admin/{path}", follow=True).content.decode() for path in paths)


def command_lines() -> str:
    """Read the arguments of all processes of this machine."""
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if readable(path)]
    return b"\n".join(lines).decode("latin-1")


def readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


@pytest.mark.proves("Authentication", "Events")
@pytest.mark.django_db(transaction=True)
def test_secrets_are_found_nowhere(api: Api, chatbot: Chatbot, model: ModelServer) -> None:
    sown = Sown(chatbot)
    with Web(**sown.models) as web:
        talk(web, sown, chatbot, model)
        assert len(model.arrivals) == EACH  # each model was asked, with its own key
        told = "".join(str(each.headers) for each in model.arrivals)
        assert all(secret in told for secret in sown.models.values())
        found(sown, command_lines(), "a process's arguments")
        found(sown, requests.get(f"{web.address}/openapi.json", timeout=20).text, "OpenAPI")
        found(sown, requests.get(f"{web.address}/metrics", timeout=20).text, "metrics")
        logged = web.said()
    found(sown, logged, "the log")
    found(sown, stored_bytes(), "the database")
    found(sown, admin_pages(chatbot), "the admin")
    if settings.REDIS_URL:
        kept = redis.Redis.from_url(settings.REDIS_URL)
        texts = [repr((key, kept.dump(key))) for key in kept.scan_iter(f"{settings.REDIS_PREFIX}*")]
        found(sown, "".join(texts), "Redis")


def test_a_secret_that_is_there_would_be_found(tmp_path: Path, chatbot: Chatbot) -> None:
    sown = Sown(chatbot)
    with pytest.raises(AssertionError, match="the log"):
        found(sown, f"prefix {sown.all()[-1]} suffix", "the log")
    assert len(sown.all()) == 100
