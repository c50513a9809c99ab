"""After PostgreSQL has ended all sessions of a running web process, few requests fail."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
import requests
from django.conf import settings
from django.db import connection

from tests.conftest import Api
from tests.servers.processes import Web

pytestmark = [
    pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no sessions"),
    pytest.mark.django_db(transaction=True),
]
END_ALL = """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


def test_few_requests_fail_after_all_database_sessions_have_ended(api: Api) -> None:
    with Web(WEB_WORKERS="1", RATE_LIMIT_IP="off", RATE_LIMIT_USER="off") as web:

        def ask(_: int) -> int:
            headers = {"Authorization": f"Bearer {api.key}"}
            address = f"{web.address}/api/v1/chatbots/my-chatbots"
            return requests.get(address, headers=headers, timeout=30).status_code

        with ThreadPoolExecutor(16) as threads:  # enough to use the whole connection pool
            assert set(threads.map(ask, range(100))) == {200}
        connection.close()
        connection.close_pool()
        with psycopg.connect(**connection.get_connection_params()) as other:
            ended = other.execute(END_ALL).fetchall()
        assert len(ended) > 2
        answers = [ask(number) for number in range(20)]
    assert answers.count(503) <= 3
    assert answers[-10:] == [200] * 10
