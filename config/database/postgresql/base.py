"""Django's PostgreSQL backend, with prepared statements and quick failures during an outage."""

from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout

from config.database.availability import server
from config.database.postgresql.connection import Found


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, with `run_prepared`."""

    can_join_inserts = True  # a WITH clause can contain INSERTs

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:  # Any: psycopg's
        """Take a connection from the pool.

        Raises psycopg.OperationalError, immediately if an outage is under way. If the pool has no
        connection, the error says whether the database is down or the pool is only full.
        """
        if server.is_down:
            server.check(conn_params)
        try:
            return super().get_new_connection(conn_params)
        except PoolTimeout:
            server.check(conn_params)
            raise

    def run_prepared(self, sql: str, values: list[Any], *, reads: bool) -> Found:
        """Run a statement without Django's cursor.

        Returns the rows, and the number of rows read or changed. If PREPARED_STATEMENTS is on, the
        server parses the statement only once per connection. Raises django.db.Error.
        """
        self.ensure_connection()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            if settings.PREPARED_STATEMENTS:
                found: Found = self.connection.run(sql, values)
                return found
            cursor = psycopg.ClientCursor(self.connection)
            cursor.execute(sql, values)
            return cursor.fetchall() if reads else [], cursor.rowcount
