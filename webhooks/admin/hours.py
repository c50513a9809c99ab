"""A bar chart of a webhook's deliveries per hour, without scripts or inline styles."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH, HEIGHT = 10, 100  # size of the column for one hour, in the chart's own units
GAP = 1


@dataclass(frozen=True)
class Hour:
    """Counts of the deliveries created in one hour, by their current state. Excludes tests."""

    begins_at: datetime
    ok: int
    failed: int


@dataclass(frozen=True)
class Bar:
    """An hour's bar in the chart: its position, and the heights of its two parts."""

    hour: Hour
    x: int
    ok: int
    failed: int

    @property
    def ok_top(self) -> int:
        """Return the y coordinate of the top of the lower part, which shows the successes."""
        return HEIGHT - self.ok

    @property
    def failed_top(self) -> int:
        """Return the y coordinate of the top of the upper part, which shows the failures."""
        return self.ok_top - self.failed


@dataclass(frozen=True)
class Bars:
    """A bar chart of deliveries per hour, oldest first."""

    hours: Sequence[Hour]

    thickness = WIDTH - GAP
    height = HEIGHT

    @property
    def width(self) -> int:
        """Return the total width of the bars and the gaps between them."""
        return WIDTH * len(self.hours)

    @property
    def most(self) -> int:
        """Return the number of deliveries in the busiest hour, which has the tallest bar."""
        return max((hour.ok + hour.failed for hour in self.hours), default=0)

    @property
    def columns(self) -> list[Bar]:
        """Return the bars. A part whose count is not zero is at least one unit high."""
        return [
            Bar(hour, WIDTH * number, self.scaled(hour.ok), self.scaled(hour.failed))
            for number, hour in enumerate(self.hours)
        ]

    def scaled(self, count: int) -> int:
        """Return the height of one part of a bar.

        The heights of the two parts add up to at most HEIGHT.
        """
        return max(1, count * (HEIGHT - 1) // self.most) if count else 0

    @property
    def sentence(self) -> str:
        """Describe the chart in words, for people who cannot see it."""
        ok, failed = sum(hour.ok for hour in self.hours), sum(hour.failed for hour in self.hours)
        return f"Deliveries per hour: {ok:,} ok, {failed:,} failed. The table lists each hour."
