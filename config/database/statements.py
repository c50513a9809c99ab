"""The former prepared statements, which the delivery engine uses until it is rewritten."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, lru_cache
from json import JSONDecoder
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import (
    DateTimeField,
    Expression,
    IntegerField,
    JSONField,
    Model,
    QuerySet,
)
from django.db.models.expressions import Col
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.models.sql import DeleteQuery, InsertQuery, UpdateQuery
from django.db.transaction import TransactionManagementError, mark_for_rollback_on_error

SHAPES = 128
ResultT = TypeVar("ResultT")
RowT = TypeVar("RowT", bound=Model)
# In this file, Any stands for one of our database wrappers, a compiler or a model's field.
Row = tuple[Any, ...]
WINDOW = 2_000_000_011, 2_100_000_011  # the slice that `page` takes and `with_window` replaces
decode_json = JSONDecoder().decode
WINDOW_SQL = f"LIMIT {WINDOW[1] - WINDOW[0]} OFFSET {WINDOW[0]}"
# Matches the text of a time or a uuid. On SQLite, both are passed as text.
COMPUTED = re.compile(r"\d{4}-\d\d-\d\d(?:[ T].*)?|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}")


@dataclass(frozen=True)
class Slot:
    """A placeholder among a statement's parameters for a value that each run supplies."""

    name: str
    field: Any
    stored: bool  # the value is assigned to a column, so None becomes NULL

    @property
    def form(self) -> tuple[str, bool]:
        """Return the properties that determine how a value is converted."""
        return self.field.get_internal_type(), self.stored

    def value(self, given: Mapping[str, Any], database: Any) -> Any:
        """Convert the given value for the database.

        Raises ValueError if the value is None and is not assigned to a column.
        """
        value = given[self.name]
        if self.stored:
            return self.field.get_db_prep_save(value, database)
        if value is None:
            raise ValueError(f"{self.name} is None: a comparison with NULL needs its own statement")
        return self.field.get_db_prep_value(value, database)


class Given(Expression):
    """A value that is passed to a prepared statement by name each time the statement runs."""

    def __init__(self, name: str, field: Any) -> None:
        super().__init__(output_field=field)
        self.name, self.stored = name, False

    def resolve_expression(
        self,
        query: Any = None,
        allow_joins: bool = True,
        reuse: Any = None,
        summarize: bool = False,
        for_save: bool = False,
    ) -> "Given":
        given = super().resolve_expression(query, allow_joins, reuse, summarize, for_save)
        given.stored = for_save
        return given

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [Slot(self.name, self.output_field, self.stored)]


@dataclass(frozen=True)
class Update:
    """An UPDATE of a queryset's rows. Returns the columns in `returning` for each changed row."""

    rows: "QuerySet[Any, Any]"
    values: Mapping[str, Any]
    returning: tuple[str, ...] = ()


@dataclass(frozen=True)
class Insert:
    """An INSERT of one or more rows of a model.

    The database computes the columns in `computed`. The values of all other columns are supplied
    when the statement runs, under the names that `place` returns.
    """

    model: type[Model]
    rows: int = 1
    computed: Mapping[str, Expression] = field(default_factory=dict)

    @staticmethod
    def place(row: int, attribute: str) -> str:
        """Return the name under which to supply a row's attribute. Rows are numbered from 0."""
        return f"{row}.{attribute}"


@dataclass(frozen=True)
class Statement:
    """SQL, its parameters (constants and slots), and a function that converts fetched rows."""

    sql: str
    parameters: tuple[Any, ...]
    read: Callable[[list[Any], Any], list[Any]] | None
    locks: bool = False

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """Map each name to its slot. If a name occurs twice, its value is converted only once."""
        slots = {part.name: part for part in self.parameters if isinstance(part, Slot)}
        for part in self.parameters:
            if isinstance(part, Slot) and part.form != slots[part.name].form:
                raise TypeError(f"all slots named {part.name} must have the same form")
        return slots

    def values(self, given: Mapping[str, Any], database: Any) -> list[Any]:
        """Return the parameters' values for the database."""
        known = {name: slot.value(given, database) for name, slot in self.slots.items()}
        return [known[part.name] if isinstance(part, Slot) else part for part in self.parameters]

    def execute(self, given: Mapping[str, Any], database: Any) -> tuple[list[Any], int]:
        """Run the statement. Returns the results and the number of rows."""
        if self.locks and not database.in_atomic_block:
            raise TransactionManagementError("select_for_update needs a transaction")
        return self.run(self.values(given, database), database)

    def run(self, values: list[Any], database: Any) -> tuple[list[Any], int]:
        """Run the statement with its parameters' values. Returns what `execute` returns."""
        if database.queries_logged or database.execute_wrappers:
            # Only Django's cursor logs the statement and calls the wrappers.
            with database.cursor() as cursor:
                cursor.execute(self.sql, values)
                fetched, count = cursor.fetchall() if self.read else [], cursor.rowcount
        else:
            fetched, count = database.run_prepared(self.sql, values, reads=bool(self.read))
        return self.read(fetched, database) if self.read else [], count

    def run_many(self, rows: list[list[Any]], database: Any) -> None:
        """Run the statement once for each list of parameter values.

        The statement must return no rows.
        """
        with database.cursor() as cursor:
            cursor.executemany(self.sql, rows)


def compile_select(
    rows: "QuerySet[Any, Any]", database: Any, times: Callable[[str], str] | None = None
) -> Statement:
    """Compile a queryset. Raises EmptyResultSet if the queryset can never match a row.

    If `times` is given and the database stores times as text, `times` replaces Django's parser.
    """
    compiler = rows.query.get_compiler(connection=database)
    sql, parameters = with_window(*checked(*compiler.as_sql()))
    columns = [column for column, *_ in compiler.select]
    read = reader(compiler, columns, making(rows, compiler), times)
    return Statement(sql, parameters, read, rows.query.select_for_update)


def compile_update(update: Update, database: Any) -> Statement:
    """Compile an UPDATE of a queryset's rows. The queryset's order and annotations are dropped."""
    query: Any = update.rows.query.chain(UpdateQuery)
    query.annotations = {}
    query.clear_ordering(force=True)
    query.add_update_values(update.values)
    compiler = query.get_compiler(connection=database)
    sql, parameters = checked(*compiler.as_sql())
    if not update.returning:
        return Statement(sql, parameters, None)
    fields = [update.rows.model._meta.get_field(name) for name in update.returning]
    names = ", ".join(database.ops.quote_name(field.column) for field in fields)
    columns = [field.get_col(query.base_table) for field in fields]
    return Statement(f"{sql} RETURNING {names}", parameters, reader(compiler, columns, tuple))


def compile_insert(insert: Insert, database: Any) -> Statement:
    """Compile an INSERT. Raises TypeError for a model whose rows must be saved with `save()`."""
    returned = [field for field in insert.model._meta.db_returning_fields if not field.generated]
    if insert.model.save is not Model.save or returned:
        raise TypeError(f"{insert.model.__name__} overrides save() or has columns to read back")
    fields = stored_fields(insert.model)
    places = [
        {
            field.attname: insert.computed.get(field.attname)
            or Given(Insert.place(row, field.attname), field)
            for field in fields
        }
        for row in range(insert.rows)
    ]
    query = InsertQuery(insert.model)
    rows: Any = [SimpleNamespace(**row) for row in places]  # Any: Django reads only attributes
    query.insert_values(fields, rows, raw=True)
    [(sql, parameters)] = query.get_compiler(connection=database).as_sql()
    return Statement(*checked(sql, parameters), None)


def stored_fields(model: type[Model]) -> list[Any]:
    """Return the fields that an INSERT stores: all except generated fields."""
    return [field for field in model._meta.concrete_fields if not field.generated]


def compile_delete(rows: "QuerySet[Any, Any]", database: Any) -> Statement:
    """Compile a DELETE of a queryset's rows, which must not be referenced by foreign keys."""
    query: Any = rows.query.chain(DeleteQuery)
    query.clear_ordering(force=True)
    return Statement(*checked(*query.get_compiler(connection=database).as_sql()), None)


def checked(sql: str, parameters: Iterable[Any]) -> tuple[str, tuple[Any, ...]]:
    """Raise TypeError if a parameter is a computed value, which later runs would reuse."""
    for part in parameters:
        plain = isinstance(part, (Slot, str, int, float, timedelta, type(None)))
        if not plain or (isinstance(part, str) and COMPUTED.fullmatch(part)):
            raise TypeError(f"a prepared statement must not contain a computed value: {part!r}")
    return sql, tuple(parameters)


def with_window(sql: str, parameters: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Replace the WINDOW slice with slots named `limit` and `offset`."""
    before, window, after = sql.partition(WINDOW_SQL)
    if not window:
        return sql, parameters
    place = before.replace("%%", "").count("%s")
    slots = [Slot(name, IntegerField(), False) for name in ("limit", "offset")]
    return (
        f"{before}LIMIT %s OFFSET %s{after}",
        (*parameters[:place], *slots, *parameters[place:]),
    )


def reader(
    compiler: Any,
    columns: list[Any],
    make: Callable[[Row], Any],
    times: Callable[[str], str] | None = None,
) -> Callable[[list[Any], Any], list[Any]]:
    """Return a function that converts fetched rows as Django does and builds results from them.

    The function converts column by column, because most columns need no conversion. If
    `times` is given and the database stores times as text, `times` replaces Django's parser.
    """
    conversions = [
        (position, convert, column)
        for position, (converts, column) in compiler.get_converters(columns).items()
        for convert in faster(column, converts, None)
    ]

    def read(fetched: list[Any], database: Any) -> list[Any]:
        if not fetched:
            return []
        if len(fetched) == 1:  # arranging a single row by columns takes longer than converting it
            row = [*fetched[0]]
            for position, convert, column in conversions:
                row[position] = convert(row[position], column, database)
            return [make(tuple(row))]
        values: list[Any] = [*zip(*fetched, strict=True)]
        for position, convert, column in conversions:
            values[position] = [convert(each, column, database) for each in values[position]]
        return [make(row) for row in zip(*values, strict=True)]

    return read


def faster(column: Any, converts: list[Any], times: Callable[[str], str] | None) -> list[Any]:
    """Replace Django's converters for JSON and, if `times` is given, for times."""
    kind = column.output_field
    if isinstance(column, Col) and type(kind) is JSONField and kind.decoder is None:
        return [stored_json]
    if times and isinstance(kind, DateTimeField):
        return [lambda value, *_: value and times(value)]
    return converts


def stored_json(value: str | None, *_: Any) -> Any:
    """Convert stored JSON, which is most often an empty list."""
    if value == "[]":
        return []
    return None if value is None else decode_json(value)


def making(rows: "QuerySet[Any, Any]", compiler: Any) -> Callable[[Row], Any]:
    """Return a function that turns a converted row into one of a queryset's results."""
    kind = rows._iterable_class
    if rows._prefetch_related_lookups:  # type: ignore[attr-defined]  # the stubs lack it
        raise TypeError("a prepared statement cannot prefetch")
    if kind is ModelIterable:
        return making_instances(compiler)
    if kind is ValuesListIterable:
        return tuple
    if kind is FlatValuesListIterable:
        return lambda row: row[0]
    if kind is ValuesIterable:
        names = [*rows.query.values_select, *rows.query.annotation_select]
        return lambda row: dict(zip(names, row, strict=True))
    raise TypeError(f"a prepared statement does not support {kind.__name__}")


def making_instances(compiler: Any) -> Callable[[Row], Any]:
    """Return a function that turns a row into an instance with its relations and annotations."""
    model, own = compiler.klass_info["model"], compiler.klass_info["select_fields"]
    first, last = own[0], own[-1] + 1
    names = [column.target.attname for column, *_ in compiler.select[first:last]]
    populators: Any = get_related_populators  # Any: the stubs are for another Django version
    related = populators(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS)
    annotations = list((compiler.annotation_col_map or {}).items())

    def make(row: Row) -> Any:
        instance = model.from_db(DEFAULT_DB_ALIAS, names, row[first:last])
        for populator in related:
            populator.populate(row, instance)
        for name, position in annotations:
            setattr(instance, name, row[position])
        return instance

    return make


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
        with mark_for_rollback_on_error(using=DEFAULT_DB_ALIAS):
            return super().execute(shape, given)

    def run(self, *shape: Any, **given: Any) -> int:
        """Change the rows. Returns their number."""
        return self.execute(shape, given)[1]


def prepared(
    build: "Callable[..., QuerySet[Any, ResultT]]", times: Callable[[str], str] | None = None
) -> Prepared[ResultT]:
    """Prepare the queryset that a function builds.

    SQLite stores times as text. If `times` is given, it replaces Django's parser for that text.
    """
    return Prepared(lambda *shape, database: compile_select(build(*shape), database, times))


def prepared_update(build: Callable[..., Any]) -> PreparedWrite:
    """Prepare the UPDATE that a function builds. The values assigned to columns may be None."""
    return PreparedWrite(lambda *shape, database: compile_update(build(*shape), database))


def prepared_delete(build: "Callable[..., QuerySet[Any, Any]]") -> PreparedWrite:
    """Prepare a DELETE of the rows that a function selects. It does not cascade."""
    return PreparedWrite(lambda *shape, database: compile_delete(build(*shape), database))


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


def new(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values under the parameter names that `_update_columns` expects."""
    return {f"new {name}": value for name, value in values.items()}
