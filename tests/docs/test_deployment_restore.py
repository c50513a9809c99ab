"""The commands in docs/deployment.md dump and restore a database on PostgreSQL."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from tests.groups import needs
from tests.patience import PATIENCE
from tests.servers.forks import run_to_end
from tests.servers.postgres import NAME, Postgres, programs
from tests.servers.processes import ROOT

pytestmark = pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server")

COMPOSE = "docker compose exec -T postgres "
RESTORES = re.compile(rf"^ +((?:{COMPOSE})?(?:dropdb|createdb|pg_restore) .*)", re.M)


def commands(*, containers: bool) -> list[str]:
    """Return the document's dump and restore commands, without their `docker compose` prefix."""
    text = (ROOT / "docs" / "deployment.md").read_text()
    dumps = re.findall(rf"`{COMPOSE}(pg_dump .*?)`", text)
    restores = [each for each in RESTORES.findall(text) if each.startswith(COMPOSE) == containers]
    return [*dumps, *(each.removeprefix(COMPOSE) for each in restores)]


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Start PostgreSQL, and yield the environment for an installation and PostgreSQL's tools."""
    if not programs():
        needs("initdb")
    with Postgres() as server:
        yield os.environ | {
            "PATH": f"{server.programs}:{os.environ['PATH']}",
            "DATABASE_URL": server.url.replace("postgres@", "chatbots@").replace(NAME, "chatbots"),
            "STATE_DIR": str(tmp_path),
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
            "PGUSER": "postgres",
        }


@pytest.mark.parametrize("containers", [True, False])
def test_a_restored_dump_replaces_the_database_of_a_newer_version(
    environment: dict[str, str], tmp_path: Path, *, containers: bool
) -> None:
    def run(command: str) -> None:
        words = ["sh", "-c", command]
        subprocess.run(words, cwd=tmp_path, env=environment, check=True, timeout=PATIENCE)

    def manage(*words: str) -> int:
        done = run_to_end("manage.py", *words, environment=environment, timeout=PATIENCE)
        return done.returncode

    def ask(query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as session:
            return session.execute(query.encode()).fetchall()

    run(f"createuser {'--superuser' if containers else ''} chatbots")  # compose makes a superuser
    run("createdb --owner=chatbots chatbots")
    assert manage("migrate", "--verbosity", "0") == 0
    before = ask("SELECT name FROM auth_group ORDER BY id")
    dump, *restore = commands(containers=containers)
    run(dump)
    assert ask("UPDATE auth_group SET name = id RETURNING true")
    run('psql -q -c "CREATE TABLE newer (id int REFERENCES auth_group)" chatbots')
    assert len(restore) == 3
    for command in restore:
        run(command)
    assert ask("SELECT name FROM auth_group ORDER BY id") == before
    assert ask("SELECT to_regclass('newer')") == [(None,)]
    assert manage("migrate", "--check") == 0
    assert ask("UPDATE auth_group SET name = id RETURNING true"), "the owner is the same"
