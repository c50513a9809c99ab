"""The newest versions are kept, and so are the versions that replies have used."""

from typing import Any

import pytest

from chatbots.models import Chatbot, Instruction, Version, version
from chatbots.models.version import use
from chatbots.services import instruction as instructions
from tests.factories.chatbots import InstructionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def three_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "NEWEST_KEPT", 3)


def numbers(row: Any) -> list[int]:
    """Return the numbers of a row's versions, oldest first."""
    kept = Version.objects.filter(row_id=row.pk).order_by("number")
    return list(kept.values_list("number", flat=True))


def edit(row: Instruction, *texts: str) -> None:
    for text in texts:
        instructions.update(row.chatbot_id, row.pk, {"instruction": text})


def use_current(row: Any) -> None:
    """Mark the row's current version as used by a reply.

    Asserts that the version still exists.
    """
    row.refresh_from_db()
    assert use([Version.objects.get(row_id=row.pk, number=row.version).pk])


@pytest.mark.usefixtures("three_kept")
@pytest.mark.parametrize(
    ("saved", "used", "kept"),
    [
        pytest.param(1, [], [1], id="the first one"),
        pytest.param(3, [], [1, 2, 3], id="as many as are kept"),
        pytest.param(4, [], [2, 3, 4], id="one more"),
        pytest.param(9, [], [7, 8, 9], id="many more"),
        pytest.param(9, [2], [2, 7, 8, 9], id="one used"),
        pytest.param(9, [1, 2, 5], [1, 2, 5, 7, 8, 9], id="several used"),
        pytest.param(9, [9], [7, 8, 9], id="the current one used"),
        pytest.param(5, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5], id="all used"),
    ],
)
def test_the_newest_versions_and_those_that_replies_used_are_kept(
    chatbot: Chatbot, saved: int, used: list[int], kept: list[int]
) -> None:
    other = InstructionFactory(chatbot=chatbot)
    row = InstructionFactory(chatbot=chatbot)
    for number in range(1, saved + 1):
        if number > 1:
            edit(row, f"text {number}")
        if number in used:
            use_current(row)
    assert numbers(row) == kept
    assert numbers(other) == [1]
