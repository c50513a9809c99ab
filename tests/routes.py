"""Record the project files whose code a call runs, in order of execution.

Files in config/database are left out, because every database statement runs code from them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from tests.house.source import PACKAGES, ROOT

OURS = tuple(f"{ROOT / package}/" for package in PACKAGES)
MECHANISM = f"{ROOT / 'config' / 'database'}/"


@dataclass
class Route:
    """The project's files in the order in which a call entered them. A file may be repeated."""

    stops: list[str] = field(default_factory=list)

    @property
    def files(self) -> int:
        """The number of different files that the call entered."""
        return len(set(self.stops))

    @property
    def moves(self) -> int:
        """The number of times that the call moved from one file to another."""
        return max(0, len(self.stops) - 1)


@contextmanager
def followed() -> Iterator[Route]:
    """Record the files that this thread enters within the block."""
    route = Route()

    def note(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        ours = file.startswith(OURS) and not file.startswith(MECHANISM)
        if event == "call" and ours and file not in route.stops[-1:]:
            route.stops.append(file)

    sys.setprofile(note)
    try:
        yield route
    finally:
        sys.setprofile(None)
