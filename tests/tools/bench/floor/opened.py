"""The objects that the floor's modules share: the database, the counters, and the SQL.

FLOOR_DATABASE is a URL or the path of an SQLite file. FLOOR_REDIS is a URL or empty.
"""

import os
from types import SimpleNamespace
from typing import Any

from tests.tools.bench.floor import statements
from tests.tools.bench.floor.counters import Memory, Redis
from tests.tools.bench.floor.stores import Postgres, Sqlite, in_dialect

address, broker = os.environ["FLOOR_DATABASE"], os.environ["FLOOR_REDIS"]
store: Postgres | Sqlite = Postgres(address) if "://" in address else Sqlite(address)
counters: Redis | Memory = Redis(broker, f"floor-{os.getpid()}:") if broker else Memory()
SQL: Any = SimpleNamespace(
    **{name: in_dialect(store, text) for name, text in vars(statements).items() if name.isupper()}
)


class Refused(Exception):
    """Raised if a request must be refused. The argument is the status line."""


def one(rows: list[Any]) -> Any:
    """Return the first row. Raises Refused if there are no rows."""
    if not rows:
        raise Refused("404 Not Found")
    return rows[0]
