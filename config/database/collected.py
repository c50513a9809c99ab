"""Subqueries whose rows are collected before the other conditions are tested."""

from typing import Any

from django.db.models import QuerySet, Subquery


class Collected(Subquery):
    """A subquery whose rows PostgreSQL collects first, whatever it expects of their number."""

    def as_postgresql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        """Make an array of the rows: otherwise threads may be read in order and tested each."""
        return self.as_sql(
            compiler, connection, template="(SELECT unnest(ARRAY(%(subquery)s)))", **options
        )


class Unnested(Subquery):
    """The ids of a subquery that PostgreSQL runs for each row: the row is repeated for each id."""

    template = "unnest(ARRAY(%(subquery)s))"
    set_returning = True

    def __init__(self, rows: "QuerySet[Any]") -> None:
        super().__init__(rows.values("pk"))
