"""A subquery that the planner of PostgreSQL does not take apart."""

from typing import Any

from django.db.models import Subquery


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
