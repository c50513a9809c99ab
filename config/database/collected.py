"""Subqueries with custom SQL that Django's own Subquery does not generate."""

from typing import Any

from django.db.models import IntegerField, QuerySet, Subquery


class Collected(Subquery):
    """A subquery that PostgreSQL runs first and in full, regardless of its estimated size."""

    def as_postgresql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        """Collect the rows in an array.

        Without the array, the planner may scan the outer rows and test each one against the
        subquery.
        """
        return self.as_sql(
            compiler, connection, template="(SELECT unnest(ARRAY(%(subquery)s)))", **options
        )


class Unnested(Subquery):
    """A subquery of ids. It runs once for each outer row, and repeats that row for each id."""

    template = "unnest(ARRAY(%(subquery)s))"
    set_returning = True

    def __init__(self, rows: "QuerySet[Any]") -> None:
        super().__init__(rows.values("pk"))


class CountOf(Subquery):
    """Counts the rows of a subquery, which may have a limit."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()
    empty_result_set_value = 0  # used if Django knows that no row can match
