"""Make the database reject new rows of one model."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.models import Model

BEGIN = {
    "sqlite": """
        CREATE TRIGGER refusing BEFORE INSERT ON {table}
        BEGIN SELECT RAISE(ABORT, 'refused by a test'); END""",
    "postgresql": """
        CREATE FUNCTION pg_temp.refuse() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$;
        CREATE TRIGGER refusing BEFORE INSERT ON {table}
        FOR EACH ROW EXECUTE FUNCTION pg_temp.refuse()""",
}
END = {
    "sqlite": "DROP TRIGGER refusing",
    "postgresql": "DROP TRIGGER refusing ON {table}; DROP FUNCTION pg_temp.refuse()",
}


@contextmanager
def refusing(model: type[Model]) -> Iterator[None]:
    """Within the block, make the database raise an error for each new row of a model."""
    with connection.cursor() as cursor:
        cursor.execute(BEGIN[connection.vendor].format(table=model._meta.db_table))
        try:
            yield
        finally:
            cursor.execute(END[connection.vendor].format(table=model._meta.db_table))
