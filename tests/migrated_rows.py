"""Empty the tables after tests that commit, and restore the rows that migrations create.

Django's post_migrate signal recreates content types and permissions, but not the project's rows:
groups, plans and the built-in model. Inserting a copy of all rows restores everything, and is much
faster than sending the signal.
"""

from collections.abc import Iterable
from typing import Any

from django.core.management.commands import flush
from django.core.management.sql import sql_flush
from django.db import connection, transaction

Rows = dict[str, tuple[list[str], list[tuple[Any, ...]]]]  # columns and rows, keyed by table

LARGE = 1 << 20  # in bytes; if any table is larger, all tables are truncated


def all_tables() -> list[str]:
    return connection.introspection.django_table_names(only_existing=True)


def read(tables: Iterable[str]) -> Rows:
    """Read all rows of the given tables. The result leaves out empty tables."""
    found: Rows = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)} ORDER BY 1")
            if rows := cursor.fetchall():
                found[table] = ([column[0] for column in cursor.description], rows)
    return found


def write(tables: Rows) -> None:
    """Insert the given rows into each table that is empty."""
    quote = connection.ops.quote_name
    with transaction.atomic(), connection.cursor() as cursor:
        for table, (columns, rows) in tables.items():
            cursor.execute(f"SELECT 1 FROM {quote(table)} LIMIT 1")
            if not cursor.fetchone():
                names, places = ", ".join(map(quote, columns)), ", ".join(["%s"] * len(columns))
                cursor.executemany(f"INSERT INTO {quote(table)} ({names}) VALUES ({places})", rows)


def filled() -> dict[str, bool]:
    """Return the PostgreSQL tables that have rows, and whether each one is larger than LARGE."""
    quote = connection.ops.quote_name
    asked = (
        f"SELECT '{table}', pg_relation_size('{quote(table)}') > {LARGE} "
        f"WHERE EXISTS (TABLE {quote(table)})"
        for table in all_tables()
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(asked))
        return dict(cursor.fetchall())


def keep() -> None:
    """Read the rows of a new database, and make each flush restore them."""
    kept = read(all_tables())

    def statements(style: Any, *_: object, **options: Any) -> list[str]:
        """Return the statements that empty the tables.

        A test usually leaves few rows. On PostgreSQL, if no table is large, DELETE therefore
        empties only the tables that have changed. TRUNCATE would be slower, because it creates
        new files for all tables and indexes, and waits until they are on disk.
        """
        if connection.vendor == "postgresql" and not any((found := filled()).values()):
            now = read(kept)
            changed = (table for table in found if now.get(table) != kept.get(table, ()))
            return [f"DELETE FROM {connection.ops.quote_name(table)}" for table in changed]
        return sql_flush(style, connection, **options)

    vars(flush).update(sql_flush=statements, emit_post_migrate_signal=lambda *_, **__: write(kept))
