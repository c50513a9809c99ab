"""Statements that are compiled once and run many times.

Building and compiling a queryset costs far more than running it. Pass `prepared` a function that
builds a queryset. The first run calls the function, and later runs use the compiled statement:

    CHATBOT = prepared(lambda: Chatbot.objects.filter(pk=Given("id", UUIDField())))

    chatbot = CHATBOT.first(id=chatbot_id)

A `Given` stands for a value that each run supplies as a keyword argument. Positional arguments,
such as a limit or the columns to read, are passed to the function. Each combination of positional
arguments is a shape: a variant of the statement that is built and compiled separately. The function
is called only on a shape's first run, so a value that changes between runs, such as the current
time or a new uuid, must be a `Given`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.models import Expression, Model, QuerySet
from django.db.transaction import mark_for_rollback_on_error

from config.database.statements import (
    WINDOW,
    Given,
    Insert,
    Statement,
    Update,
    compile_delete,
    compile_insert,
    compile_select,
    compile_update,
    stored_fields,
)

__all__ = [
    "Given",
    "Prepared",
    "Update",
    "among",
    "insert",
    "insert_each",
    "listed",
    "page",
    "prepared",
    "prepared_delete",
    "prepared_update",
    "together",
    "update_columns",
    "update_each",
]

HAS_CHANGED = "no longer exists or has changed"
SHAPES = 128  # maximum number of shapes per statement; the least recently used is dropped first
ResultT = TypeVar("ResultT")
RowT = TypeVar("RowT", bound=Model)
Rows = TypeVar("Rows", bound="QuerySet[Any, Any]")


class Prepared(Generic[ResultT]):
    """A statement with all of its shapes. It is thread-safe."""

    def __init__(self, compile_shape: Callable[..., Statement]) -> None:
        self.compile_shape = compile_shape
        self.statement = lru_cache(SHAPES)(self.compile)

    def compile(self, vendor: str, *shape: Any) -> Statement:
        """Compile one shape of the statement for this thread's database backend."""
        return self.compile_shape(*shape, database=connections[DEFAULT_DB_ALIAS])

    def execute(self, shape: tuple[Any, ...], given: dict[str, Any]) -> tuple[list[Any], int]:
        """Run one shape of the statement. Returns the results and the number of rows."""
        database = connections[DEFAULT_DB_ALIAS]
        return self.statement(database.vendor, *shape).execute(given, database)

    def rows(self, *shape: Any, **given: Any) -> list[ResultT]:
        """Return all rows, as the queryset would."""
        return self.execute(shape, given)[0]

    def first(self, *shape: Any, **given: Any) -> ResultT | None:
        """Return the first row or None. All rows are read, so slice large querysets."""
        rows = self.rows(*shape, **given)
        return rows[0] if rows else None

    def get(self, *shape: Any, **given: Any) -> ResultT:
        """Return the only row. Raises ValueError if the number of rows is not 1."""
        [row] = self.rows(*shape, **given)
        return row


class PreparedWrite(Prepared[tuple[Any, ...]]):
    """A statement that changes rows. It sends no signals."""

    def execute(self, shape: tuple[Any, ...], given: dict[str, Any]) -> tuple[list[Any], int]:
        """Run one shape. A failure marks the enclosing transaction for rollback, as in Django."""
        database: Any = connections[DEFAULT_DB_ALIAS]  # Any: the stubs lack what our wrapper adds
        with database.writing(), mark_for_rollback_on_error(using=DEFAULT_DB_ALIAS):
            return super().execute(shape, given)

    def run(self, *shape: Any, **given: Any) -> int:
        """Change the rows. Returns their number."""
        return self.execute(shape, given)[1]

    def write(self, *shape: Any, missing: str = "", **given: Any) -> None:
        """Change the rows immediately or, in a `together` block, when the block ends.

        If `missing` is given and no row is changed, raises DatabaseError with `missing` in its
        text.
        """
        database: Any = connections[DEFAULT_DB_ALIAS]  # Any: the stubs lack what our wrapper adds
        if database.waiting_writes is not None:
            statement = self.statement(database.vendor, *shape)
            values = statement.values(given, database)
            database.waiting_writes.append(Write(statement.sql, values, missing))
        elif not self.run(*shape, **given) and missing:
            raise DatabaseError(missing)


class Write(NamedTuple):
    """A write that waits for the end of a `together` block."""

    sql: str
    values: list[Any]
    missing: str


@contextmanager
def together() -> Iterator[None]:
    """Join the writes made by `insert`, `update_columns` and `write` into one statement.

    Outside a transaction, each write runs immediately instead.

    The joined statement is sent after the block, in the same round trip as the next statement or
    COMMIT. If the joined statement fails, that next statement or COMMIT raises the error. The
    writes must not depend on each other, and no row may be written twice. All other statements in
    the block run immediately. On SQLite, the writes also run immediately, because they need no
    round trip.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]  # Any: the stubs lack what our wrapper adds
    joins = database.joins_writes and database.in_atomic_block
    if not joins or database.waiting_writes is not None:
        yield
        return
    writes: list[Write] = []
    database.waiting_writes = writes
    try:
        yield
    finally:
        database.waiting_writes = None
    if not writes:
        return
    statement = joined(tuple((write.sql, bool(write.missing)) for write in writes))
    values = [value for write in writes for value in write.values]
    values += [f"{write.missing}: " for write in writes if write.missing]
    with mark_for_rollback_on_error(using=DEFAULT_DB_ALIAS):
        statement.run_later(values, database)


@lru_cache(256)
def joined(writes: tuple[tuple[str, bool], ...]) -> Statement:
    """Join writes into one statement whose results are discarded.

    Each item of `writes` is a pair: the SQL of a write, and whether the write must change a row. If
    a write that must change a row does not, the whole statement fails, and a COMMIT sent with it
    does not run. PostgreSQL has no built-in function that raises an error, so the statement casts
    the error's text to an integer, which fails. The error texts are parameters, which follow the
    parameters of the writes.

    PostgreSQL runs all writes on the same snapshot, and checks foreign keys after the last write.
    """
    parts = [f"w{number} AS ({sql} RETURNING 1)" for number, (sql, _) in enumerate(writes)]
    counts = [f"(SELECT COUNT(*) FROM w{number})" for number in range(len(writes))]  # noqa: S608
    checks = [
        f"CASE {count} WHEN 0 THEN CAST(CAST(%s AS text) || {count} AS integer) END"
        for count, (_, must_change) in zip(counts, writes, strict=True)
        if must_change
    ]
    return Statement(f"WITH {', '.join(parts)} SELECT {', '.join(checks)}", (), None)


def prepared(
    build: "Callable[..., QuerySet[Any, ResultT]]", times: Callable[[str], str] | None = None
) -> Prepared[ResultT]:
    """Prepare the queryset that a function builds.

    SQLite stores times as text. If `times` is given, it replaces Django's parser for that text.
    """
    return Prepared(lambda *shape, database: compile_select(build(*shape), database, times))


def prepared_update(build: Callable[..., Update]) -> PreparedWrite:
    """Prepare the UPDATE that a function builds. The values assigned to columns may be None."""
    return PreparedWrite(lambda *shape, database: compile_update(build(*shape), database))


def prepared_delete(build: "Callable[..., QuerySet[Any, Any]]") -> PreparedWrite:
    """Prepare a DELETE of the rows that a function selects. It does not cascade."""
    return PreparedWrite(lambda *shape, database: compile_delete(build(*shape), database))


def page(rows: Rows) -> Rows:
    """Slice a queryset or a subquery by `limit` and `offset`, which each run supplies.

    If a limit rarely changes, make it part of the shape instead. The database can then take the
    limit into account when planning the query.
    """
    sliced: Rows = rows[WINDOW[0] : WINDOW[1]]
    return sliced


_insert = PreparedWrite(
    lambda model, rows, *computed, database: compile_insert(
        Insert(model, rows, dict(computed)), database
    )
)


def _columns(model: type[Model], compared: tuple[str, ...], *names: str) -> Update:
    def given(word: str, columns: Iterable[str]) -> dict[str, Any]:
        fields: list[Any] = [model._meta.get_field(name) for name in columns]
        return {field.name: Given(f"{word} {field.name}", field) for field in fields}

    rows = model._base_manager.filter(pk=Given("pk", model._meta.pk), **given("old", compared))
    return Update(rows, given("new", names))


_update_columns = prepared_update(_columns)


def insert(*rows: Model, **computed: Expression) -> None:
    """Store new rows of one model in one statement. Raises IntegrityError.

    The database computes generated columns. It also computes each column whose expression is given
    in `computed` or returned by the field's `pre_save`. The statement is cached, so an expression
    must not contain values that change between calls.
    """
    given = {}
    for number, row in enumerate(rows):
        for field in stored_fields(type(row)):
            if field.attname in computed:
                continue
            value = field.pre_save(row, add=True)
            if isinstance(value, Expression):
                computed[field.attname] = value
            else:
                given[Insert.place(number, field.attname)] = value
    _insert.write(type(rows[0]), len(rows), *computed.items(), **given)
    for row in rows:
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def update_columns(
    row: Model, names: Iterable[str], old: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Save only the named columns of a row.

    Raises DatabaseError if the row no longer exists, or if a column no longer has the value given
    in `old`. If `old` is given, the text of the error contains HAS_CHANGED in both cases.
    """
    given = changed(row, names)
    values = {f"old {name}": value for name, value in old.items()} | new(given)
    missing = f"{type(row).__name__} {row.pk} {HAS_CHANGED if old else 'no longer exists'}"
    _update_columns.write(type(row), tuple(old), *given, missing=missing, pk=row.pk, **values)


def update_each(model: type[Model], rows: Mapping[Any, Mapping[str, Any]]) -> None:
    """Update the same columns of several rows. `rows` maps each primary key to the new values.

    This runs the same short statement once for each row. Django's bulk_update would build one long
    statement, with a CASE over all rows for each column.
    """
    if not rows:
        return
    database = connections[DEFAULT_DB_ALIAS]
    names = next(iter(rows.values()))
    statement = _update_columns.statement(database.vendor, model, (), *names)
    values = [statement.values({"pk": pk} | new(row), database) for pk, row in rows.items()]
    with mark_for_rollback_on_error(using=DEFAULT_DB_ALIAS):
        statement.run_many(values, database)


def insert_each(rows: list[RowT]) -> None:
    """Store new rows of one model by running the same statement once for each row."""
    if not rows:
        return
    database = connections[DEFAULT_DB_ALIAS]
    statement = _insert.statement(database.vendor, type(rows[0]), 1)
    values = [
        statement.values(
            {
                Insert.place(0, field.attname): field.pre_save(row, add=True)
                for field in stored_fields(type(row))
            },
            database,
        )
        for row in rows
    ]
    with mark_for_rollback_on_error(using=DEFAULT_DB_ALIAS):
        statement.run_many(values, database)


def among(name: str, field: Any, size: int) -> list[Any]:  # Any: the stubs do not accept Given
    """Return the right-hand side of an `__in` lookup. `size` is the size that `listed` returned."""
    return [Given(f"{name} {number}", field) for number in range(size)]


def listed(name: str, values: Iterable[Any]) -> tuple[int, dict[str, Any]]:
    """Return the padded size of a list, and its values under the names that `among` uses.

    Each size needs its own statement. To limit the number of sizes, the list is padded to a power
    of two by repeating its last value. If the list is empty, its size is 0, and the query must
    leave out the lookup.
    """
    found = list(values)
    size = 1 << (len(found) - 1).bit_length() if found else 0
    found += found[-1:] * (size - len(found))
    return size, {f"{name} {number}": value for number, value in enumerate(found)}


def changed(row: Model, names: Iterable[str]) -> dict[str, Any]:
    """Map the name of each given field of a row to the value to store."""
    fields: list[Any] = [row._meta.get_field(name) for name in sorted(names)]
    return {field.name: field.pre_save(row, add=False) for field in fields}


def new(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values under the parameter names that `_update_columns` expects."""
    return {f"new {name}": value for name, value in values.items()}
