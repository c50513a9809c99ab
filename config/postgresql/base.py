"""PostgreSQL with a pool that outlives a restart of the server."""

from typing import Any

import psycopg
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, but that nobody is handed a connection that has ended.

    With Django's CONN_HEALTH_CHECKS the pool would look, too, but sleep a second, two, four
    between one dead connection and the next.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:  # Any: psycopg's
        """Take a connection that works from the pool. Raises OperationalError if there is none."""
        connection = super().get_new_connection(conn_params)
        if self.pool:
            try:
                self.pool.check_connection(connection)
            except psycopg.OperationalError:
                self.pool.putconn(connection)
                self.pool.check()  # the others will have ended with it
                return super().get_new_connection(conn_params)
        return connection
