"""Copy a row many times inside the database. A million copies take up to a minute."""

from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.db.models import Model

SERIES = {
    "postgresql": "(SELECT n FROM generate_series(1, %s) AS n)",
    "sqlite": "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %s)"
    " SELECT n FROM s)",
}
NEW_ID = {"postgresql": "gen_random_uuid()", "sqlite": "lower(hex(randomblob(16)))"}


def new_id() -> str:
    return NEW_ID[connection.vendor]


def copy(row: Model, count: int, columns: Mapping[str, str] = {}, *, source: str = "") -> None:
    """Insert `count` copies of a row. `columns` maps column names to SQL for the copies' values.

    In this SQL, `template` is the original row, and `s.n` is the copy's number, starting at 1. If
    `source` (a query) is given, one copy is made for each of its rows, and `s` is that row.
    """
    table, key = row._meta.db_table, row._meta.pk
    assert key is not None
    names = [field.column or "" for field in row._meta.concrete_fields if not field.generated]
    given = {"id": new_id(), **columns}
    values = [given.get(name, f'template."{name}"') for name in names]
    sql = (
        f"INSERT INTO {table} ({', '.join(map(quoted, names))}) SELECT {', '.join(values)}"
        f" FROM {source or SERIES[connection.vendor]} AS s"
        f" CROSS JOIN {table} AS template WHERE template.{quoted(str(key.column))} = %s"
    )
    parameters: list[Any] = [] if source else [count]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*parameters, key.get_db_prep_value(row.pk, connection)])


def quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def settle() -> None:
    """Update PostgreSQL's statistics, as autovacuum would.

    On SQLite, this does nothing, because the service never collects statistics there.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE" if connection.in_atomic_block else "VACUUM ANALYZE")
