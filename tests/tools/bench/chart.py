"""Draw an SVG bar chart that is readable on light and dark pages."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

LEFT, WIDTH, RIGHT = 150, 560, 60  # widths of the names, a bar of value 1.0, and the figures
BAR, GAP, GROUP = 14, 3, 14  # heights of a bar, the gap below it, and the gap below a group
TOP, BOTTOM = 64, 28
COLORS = {"PostgreSQL and Redis": "#2f6db3", "embedded default": "#d08a1d"}
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#57606a}"
    ".title{font-weight:600;fill:#24292f}"
    "@media(prefers-color-scheme:dark){text{fill:#9aa4ae}.title{fill:#e6edf3}}"
)


class Bar(NamedTuple):
    """One bar: its group and series, its median, lowest and highest values, and its target."""

    group: str
    series: str
    value: float
    least: float
    most: float
    goal: float


def chart(title: str, bars: list[Bar]) -> str:
    """Draw the bars in groups, on a scale from 0 to 1, where 1 is the speed of the floor."""
    groups = list(dict.fromkeys(bar.group for bar in bars))
    height = TOP + len(bars) * (BAR + GAP) + len(groups) * GROUP + BOTTOM
    width = LEFT + WIDTH + RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
        *legend(),
        *axis(height),
    ]
    y = TOP
    for group in groups:
        mine = [bar for bar in bars if bar.group == group]
        middle = y + len(mine) * (BAR + GAP) / 2 + 4
        parts.append(
            f'<text x="{LEFT - 10}" y="{middle:g}" text-anchor="end">{escape(group)}</text>'
        )
        for bar in mine:
            parts += drawn(bar, y)
            y += BAR + GAP
        y += GROUP
    return "\n".join([*parts, "</svg>", ""])


def legend() -> Iterator[str]:
    x = LEFT
    for series, color in COLORS.items():
        yield f'<rect x="{x}" y="36" width="12" height="12" fill="{color}"/>'
        yield f'<text x="{x + 18}" y="47">{escape(series)}</text>'
        x += 180
    yield f'<path d="M{x} 36v12" stroke="#c0392b" stroke-width="2"/>'
    yield f'<text x="{x + 10}" y="47">target</text>'


def axis(height: int) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x = LEFT + WIDTH * tenth / 10
        yield f'<path d="M{x:g} {TOP - 6}V{height - BOTTOM}" stroke="#8884" stroke-width="1"/>'
        yield f'<text x="{x:g}" y="{height - 8}" text-anchor="middle">{tenth / 10:g}</text>'


def drawn(bar: Bar, y: float) -> Iterator[str]:
    """Draw a bar, its value, its target, and a thin line from the lowest to the highest value."""

    def at(value: float) -> float:
        return LEFT + WIDTH * min(value, 1.0)

    middle = y + BAR / 2
    yield (
        f'<rect x="{LEFT}" y="{y}" width="{at(bar.value) - LEFT:.1f}" height="{BAR}"'
        f' fill="{COLORS[bar.series]}"/>'
    )
    yield f'<path d="M{at(bar.least):.1f} {middle}H{at(bar.most):.1f}" stroke="#888"/>'
    yield f'<path d="M{at(bar.goal):.1f} {y}v{BAR}" stroke="#c0392b" stroke-width="2"/>'
    right = max(at(bar.most), at(bar.goal)) + 6
    yield f'<text x="{right:.1f}" y="{y + BAR - 3}">{bar.value:.2f}</text>'
