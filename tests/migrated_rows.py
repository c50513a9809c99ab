"""The rows that migrations create, restored whenever the end of a test empties the tables.

Django would create content types and permissions again by its post_migrate signal, and nothing
would create our own rows: groups, plans, the built-in model. Copies are exact and much faster.
"""

from typing import Any

from django.core.management.commands import flush
from django.db import connection, transaction

Rows = dict[str, tuple[list[str], list[tuple[Any, ...]]]]  # columns and rows, by table


def read() -> Rows:
    """Read all rows of a new database."""
    found: Rows = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.django_table_names(only_existing=True):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            if rows := cursor.fetchall():
                found[table] = ([column[0] for column in cursor.description], rows)
    return found


def write(tables: Rows) -> None:
    """Insert rows into empty tables."""
    quote = connection.ops.quote_name
    with transaction.atomic(), connection.cursor() as cursor:
        for table, (columns, rows) in tables.items():
            names, places = ", ".join(map(quote, columns)), ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {quote(table)} ({names}) VALUES ({places})", rows)


def keep() -> None:
    """Read the rows of a new database now, and write them again after each flush."""
    tables = read()
    flush.emit_post_migrate_signal = lambda *_, **__: write(tables)
