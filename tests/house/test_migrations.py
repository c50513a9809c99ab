"""The migrations, run on an empty database, create the tables that the models describe."""

import pytest
from django.core.management import call_command
from django.db import connection


@pytest.mark.django_db
def test_the_migrations_create_every_table_of_the_models() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    assert set(connection.introspection.django_table_names()) <= tables
