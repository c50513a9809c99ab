"""Shapes: the serializers that define the API's bodies and query parameters.

Their fields have Python names in the code and camelCase names in JSON. `Shape.write` takes a
mapping whose keys are the fields' Python names, an object with attributes of the same names, or a
list of either. `Record.write` also takes a queryset, which it reads with one `values_list` query.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, NamedTuple

from django.db import models
from django.db.models import QuerySet
from rest_framework import serializers

from config.api import fields as wire
from config.api.naming import camel
from config.database.prepared import Prepared, prepare


class Slot(NamedTuple):
    """The source of a JSON field: columns and an optional function of them, or a nested shape."""

    name: str
    columns: tuple[str, ...]
    compute: Callable[..., Any] | None
    nested: "type[Shape] | None"
    of_mapping: Callable[[Any], Any]  # reads the column, or a tuple of the columns
    of_object: Callable[[Any], Any]


class Shape(serializers.Serializer[Any]):
    """The base of all shapes. A shape that represents a row of a model is a Record.

    Three attributes are for the OpenAPI document. `open_points` maps the Python names of fields to
    their open points. `example` is set if the examples of the fields contradict each other. `rule`
    is a JSON Schema for a condition that involves several fields of a body.
    """

    open_points: ClassVar[Mapping[str, Sequence[str]]] = {}
    example: ClassVar[Mapping[str, Any] | None] = None
    rule: ClassVar[Mapping[str, Any] | None] = None

    default_error_messages = wire.expected("object")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Give the fields their JSON names. A field's source defaults to its Python name."""
        renamed = {}
        for name, field in super().get_fields().items():
            outside = camel(name)
            if outside != name and field.source is None:
                field.source = name
            renamed[outside] = field
        return renamed

    @classmethod
    @cache
    def shared(cls, *, partial: bool = False) -> "Shape":
        """Return an instance that threads can share, because `run_validation` keeps no state.

        Creating an instance takes longer than validating with it.
        """
        return cls(partial=partial)

    @classmethod
    @cache
    def slots(cls) -> tuple[Slot, ...]:
        """Return the source of each JSON field, computed once per class."""
        made = []
        for name, field in cls().fields.items():
            inner = getattr(field, "child", field)
            columns = getattr(field, "columns", None) or (".".join(field.source_attrs),)
            nested = type(inner) if isinstance(inner, Shape) else None
            compute = getattr(field, "compute", None)
            getters = itemgetter(*columns), attrgetter(*columns)
            made.append(Slot(name, columns, compute, nested, *getters))
        return tuple(made)

    @classmethod
    def write(cls, value: Any) -> Any:
        """Convert a value to an object that `config.api.strict_json.dumps` can encode."""
        if value is None:
            return None
        if isinstance(value, (list, tuple, QuerySet)):
            return [cls.write(item) for item in value]
        mapped = isinstance(value, Mapping)
        wire_object = {}
        for slot in cls.slots():
            part = (slot.of_mapping if mapped else slot.of_object)(value)
            if slot.compute:
                part = slot.compute(*part) if len(slot.columns) > 1 else slot.compute(part)
            wire_object[slot.name] = slot.nested.write(part) if slot.nested else part
        return wire_object


class Record(Shape, serializers.ModelSerializer[Any]):
    """A shape that represents a row of a model."""

    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.CharField: wire.Text,
        models.TextField: wire.Text,
        models.EmailField: wire.Text,
        models.URLField: wire.Text,
        models.IntegerField: wire.Whole,
        models.PositiveIntegerField: wire.Whole,
        models.FloatField: wire.Number,
        models.BooleanField: wire.Flag,
        models.UUIDField: wire.Identifier,
        models.DateTimeField: wire.Timestamp,
        models.JSONField: wire.Json,
    }

    def build_standard_field(self, field_name: str, model_field: Any) -> tuple[Any, dict[str, Any]]:
        """Drop the database's upper bound on integers, which differs between databases."""
        kind, options = super().build_standard_field(field_name, model_field)
        if issubclass(kind, wire.Whole):
            options.pop("max_value", None)
        return kind, options

    @classmethod
    @cache
    def paths(cls) -> tuple[str, ...]:
        """Return the columns that the record needs, in the order of `slots`."""
        return tuple(column.replace(".", "__") for slot in cls.slots() for column in slot.columns)

    @classmethod
    def records(cls, rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
        """Turn rows with the columns of `paths` into records."""
        fields = [(slot.name, slot.compute, len(slot.columns)) for slot in cls.slots()]
        records = []
        for row in rows:
            left = iter(row)
            records.append(
                {
                    name: compute(*islice(left, size)) if compute else next(left)
                    for name, compute, size in fields
                }
            )
        return records

    @classmethod
    def find(
        cls, build: "Callable[..., QuerySet[Any]]", *shape: Any, **given: Any
    ) -> list[dict[str, Any]]:
        """Read the rows that a function selects as records.

        The arguments are those of `config.database.prepared`: positional ones for what seldom
        differs between calls, such as a limit, and keyword ones for values.
        """
        return cls.records(_rows(cls, build).rows(*shape, **given))

    @classmethod
    def read(cls, rows: "QuerySet[Any]") -> list[dict[str, Any]]:
        """Read the rows of a queryset as records, in one query and without creating instances."""
        return cls.records(rows.values_list(*cls.paths()))

    @classmethod
    def write(cls, value: Any) -> Any:
        """Convert a queryset, an instance or a list to records. A record is returned unchanged."""
        if isinstance(value, QuerySet):
            return cls.read(value)
        return value if isinstance(value, dict) else super().write(value)

    @classmethod
    def read_one(cls, rows: "QuerySet[Any]") -> dict[str, Any]:
        """Read a queryset's only row as a record. Raises ValueError unless there is exactly one."""
        [record] = cls.read(rows)
        return record


@cache
def _rows(record: type[Record], build: "Callable[..., QuerySet[Any]]") -> Prepared:
    return prepare(lambda *shape, **given: build(*shape, **given).values_list(*record.paths()))
