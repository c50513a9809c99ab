"""A subquery whose rows are collected before the other conditions are tested."""

from typing import Any

from django.db.models import Subquery


class Collected(Subquery):
    """A subquery whose rows PostgreSQL collects first, whatever it expects of their number."""

    def as_postgresql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        """Make an array of the rows: otherwise threads may be read in order and tested each."""
        return self.as_sql(
            compiler, connection, template="(SELECT unnest(ARRAY(%(subquery)s)))", **options
        )
