"""The error page of debug mode helps developers but shows no secrets."""

from typing import Any

import pytest
from django.test import Client

from config.runtime import health

PASSWORDS = {
    "DATABASE_URL": "canary-d%26b%27",
    "REDIS_URL": "canary-redis",
    "EMAIL_URL": "canary-mail",
}


@pytest.fixture
def secretive(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set every secret to a canary, and make a probe fail with secrets in its local variables."""
    settings.DEBUG = True
    settings.SECRET_KEY = "canary-secret-key"
    settings.ENCRYPTION_KEYS = ("canary-encryption-key",)
    settings.LLM_KEYS = {"LLM_API_KEY": "canary-llm-key"}
    settings.DATABASE_URL = f"postgresql://user:{PASSWORDS['DATABASE_URL']}@127.0.0.1:1/name"
    settings.REDIS_URL = f"redis://:{PASSWORDS['REDIS_URL']}@127.0.0.1:1/0?password=canary-query"
    settings.CELERY_BROKER_URL = settings.REDIS_URL
    settings.MAIL = {"EMAIL_HOST_PASSWORD": PASSWORDS["EMAIL_URL"]}
    settings.EMAIL_HOST_PASSWORD = PASSWORDS["EMAIL_URL"]

    def connect() -> bool:
        conninfo = f"host=127.0.0.1 password={PASSWORDS['DATABASE_URL']}"
        arguments = {"host": "127.0.0.1", "password": PASSWORDS["REDIS_URL"]}
        raise RuntimeError(f"cannot connect to {arguments['host']}{conninfo[:0]}")

    monkeypatch.setattr(health, "broker_answers", connect)


@pytest.mark.django_db
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_an_error_page_shows_no_secret(secretive: None, accept: str) -> None:
    client = Client(raise_request_exception=False)
    given = {"Accept": accept}
    extra = {"DATABASE_URL": f"postgresql://user:{PASSWORDS['DATABASE_URL']}@127.0.0.1:1/name"}
    answer = client.get("/readyz", headers=given, **extra)
    assert answer.status_code == 500
    page = answer.content.decode()
    assert "cannot connect to 127.0.0.1" in page
    assert "DATABASE_URL" in page
    assert "canary" not in page
