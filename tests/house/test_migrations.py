"""The migrations, run on an empty database, create the tables that the models describe."""

import pytest
from django.core.management import call_command
from django.db import connection

from tests.house.source import PACKAGES, ROOT


def test_each_app_has_one_initial_migration() -> None:
    found = {
        path.relative_to(ROOT) for app in PACKAGES for path in (ROOT / app).glob("migrations/0*")
    }
    assert {path.parts[0] for path in found if path.name == "0001_initial.py"} == set(PACKAGES)


@pytest.mark.django_db
def test_the_models_need_no_other_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_every_table_of_the_models_exists() -> None:
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    assert set(connection.introspection.django_table_names()) <= tables
