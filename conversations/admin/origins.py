"""Describe the model, the texts and the settings that produced each AI message."""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from chatbots.models import Version
from conversations.models import Message, ReplyOrigin

Key = tuple[UUID, int]  # a row's id and version number


def explained(messages: Iterable[Message]) -> dict[UUID, list[str]]:
    """Map each AI message's id to the lines that explain it. Runs at most one query."""
    origins = [one.origin for one in messages if hasattr(one, "origin")]
    names = _names({key for origin in origins for key in _keys(origin)})
    return {origin.message_id: list(_lines(origin, names)) for origin in origins}


def _keys(origin: ReplyOrigin) -> Iterator[Key]:
    if origin.model_id:
        yield origin.model_id, origin.model_version
    if origin.instruction_id:
        yield origin.instruction_id, origin.instruction_version
    for row_id, number in origin.personas:
        yield UUID(row_id), number


def _names(keys: set[Key]) -> dict[Key, str]:
    """Map each key to the title that the row has in that version."""
    if not keys:
        return {}
    # This may read more versions than needed. Matching the exact pairs would require one OR clause
    # per pair, and SQLite accepts at most 1,000 of them.
    rows = Version.objects.filter(
        row_id__in={row_id for row_id, _ in keys}, number__in={number for _, number in keys}
    )
    titles = rows.values_list("row_id", "number", "content__title")
    return {(row_id, number): title for row_id, number, title in titles}


def _lines(origin: ReplyOrigin, names: dict[Key, str]) -> Iterator[str]:
    def name(row_id: Any, number: int) -> str:
        return f"“{names.get((row_id, number), 'deleted')} v{number}”"

    if origin.failed_before:
        yield f"Models that failed first: {origin.failed_before}"
    if origin.model_id:
        yield f"Model: {name(origin.model_id, origin.model_version)}"
    if origin.instruction_id:
        yield f"Instruction: {name(origin.instruction_id, origin.instruction_version)}"
    if origin.personas:
        yield "Personas: " + ", ".join(name(UUID(key), number) for key, number in origin.personas)
    yield f"General settings: v{origin.settings_version}"
    sent = "not sent" if origin.temperature is None else f"{origin.temperature:g}"
    yield f"Temperature: {sent}; earlier messages in the prompt: {origin.history_length}"
    if origin.input_tokens is not None or origin.output_tokens is not None:
        read, written = origin.input_tokens, origin.output_tokens
        yield f"Tokens: {_count(read)} in, {_count(written)} out"


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"
