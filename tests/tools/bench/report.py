"""Write the tables and the chart of docs/benchmarks.md from the figures in docs/benchmarks.json."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from tests.servers.processes import ROOT
from tests.tools.bench.asked import ASKED as MOST
from tests.tools.bench.chart import Bar, chart

STORED = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
CHART = ROOT / "docs" / "images" / "benchmarks.svg"
INSTALLATIONS = {"servers": "PostgreSQL and Redis", "embedded": "embedded default"}

# The targets of each request, on PostgreSQL and on the embedded default. A target is the ratio of
# the service's speed to that of the floor (the minimal implementation in tests/tools/bench/floor).
ASKED = {
    "GET history": (0.42, 0.25),
    "GET threads": (0.40, 0.20),
    "GET my-chatbots": (0.35, 0.17),
    "GET lead-settings": (0.35, 0.14),
    "PATCH chatbot": (0.42, 0.28),
    "POST message": (0.24, 0.18),
}
# The rows of the table about delivery at scale, as (title, benchmark, figure, format, target)
SCALE = (
    (
        "rate with 5,000 endpoints, one delivery each : with 20 endpoints, 250 each",
        *("many_endpoints", "many_endpoints_ratio", "{:.2f}", "at least 0.8"),
    ),
    (
        "rate with 1,000 endpoints that take 0.5 s : with 20 such endpoints",
        *("slow_endpoints", "slow_endpoints_ratio", "{:.2f}", "at least 1.5"),
    ),
    (
        "rate with 1,000 endpoints that take 2 s : with 20 such endpoints",
        *("slower_endpoints", "slower_endpoints_ratio", "{:.2f}", ""),
    ),
    (
        "250 events a second for a minute to one endpoint that takes 0.2 s: undelivered at the end",
        *("one_endpoint", "one_endpoint_behind", "{:.0f}", "few"),
    ),
    (
        "... p50 of the delays of the last quarter of the events",
        *("one_endpoint", "one_endpoint_last_p50_s", "{:.2f} s", ""),
    ),
    (
        "time of a claim, with 10,000 endpoints : with 100",
        *("claim_time", "claim_ratio", "{:.2f}", "at most 2"),
    ),
    (
        "arrivals a second, 1 worker, 400 receivers that take 0.5 s",
        *("workers", "workers_1_a_second", "{:.0f}", ""),
    ),
    ("... 2 workers", *("workers", "workers_2_a_second", "{:.0f}", "")),
    (
        "... 4 workers",
        *("workers", "workers_4_a_second", "{:.0f}", "rises until the cores are busy"),
    ),
    (
        "share of the time during which any of the 4 workers holds a lock for a claim",
        *("workers", "workers_4_locked", "{:.1%}", "at most 20%"),
    ),
    *(
        (
            f"rate of claims from {burst:,} waiting deliveries, with stale : with fresh statistics",
            *("stale_statistics", f"stale_{burst}_ratio", "{:.2f}", "at least 0.83"),
        )
        for burst in (3_000, 20_000, 80_000)
    ),
    (
        "p99 from commit to arrival, without other load",
        *("arrival_beside_sends", "arrival_alone_p99_s", "{:.3f} s", ""),
    ),
    (
        "... while visitors send 40 messages a second",
        *("arrival_beside_sends", "arrival_beside_sends_p99_s", "{:.3f} s", "at most 0.25 s"),
    ),
)
Stored = dict[str, Any]  # JSON from docs/benchmarks.json
Table = Iterator[str]


def keep(name: str, figures: Stored, *, size: float, setup: str, into: str = "") -> None:
    """Store a benchmark's figures, replacing earlier ones for the same kind of installation.

    If several benchmarks share a table, `into` names the table.
    """
    stored = read()
    where = "embedded" if settings.EMBEDDED else "servers"
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    said = {"date": today, "size": size, "setup": setup, "figures": figures}
    place = stored.setdefault(into, {}) if into else stored
    place.setdefault(name, {})[where] = said
    STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


def read() -> Stored:
    found: Stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    return found


def write() -> None:
    """Rewrite the chart, and the tables between the markers in docs/benchmarks.md."""
    stored, text = read(), PAGE.read_text()
    for name, table in TABLES.items():
        lines = "\n".join(table(stored.get(name, {})))
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        block = f"{begin}\n\n{lines}\n\n{end}"
        text = re.sub(
            f"{re.escape(begin)}.*?{end}", lambda _, new=block: new, text, flags=re.DOTALL
        )
    PAGE.write_text(text)
    CHART.write_text(chart("Requests a second, this service : floor", list(bars(stored))))


def bars(stored: Stored) -> Iterator[Bar]:
    for name, asked in ASKED.items():
        for (where, title), goal in zip(INSTALLATIONS.items(), asked, strict=True):
            figures = stored.get("api", {}).get(where, {}).get("figures", {}).get(name)
            if figures:
                least, most = figures["ratio_least"], figures["ratio_most"]
                yield Bar(name, title, figures["ratio"], least, most, goal)


def both(stored: Stored) -> Iterator[tuple[str, Stored]]:
    """Yield the title and figures of each kind of installation that has been measured."""
    for where, title in INSTALLATIONS.items():
        if where in stored:
            yield title, stored[where]["figures"]


def measured(stored: Stored) -> Table:
    yield ""
    for where in INSTALLATIONS:
        if where in stored:
            said = stored[where]
            setup = said["setup"][0].upper() + said["setup"][1:]
            yield f"{setup}; {said['date']}, size {said['size']:g}.\n"


def of_api(stored: Stored) -> Table:
    yield "| request | installation | service : floor, requests/s | ratio (min to max) | target |"
    yield "|---|---|---|---|---|"
    for name, asked in ASKED.items():
        for (title, figures), goal in zip(both(stored), asked, strict=False):
            one = figures[name]
            yield (
                f"| {name} | {title} | {one['service_a_second']:.0f} : {one['floor_a_second']:.0f}"
                f" | **{one['ratio']:.3f}** ({one['ratio_least']:.3f} to {one['ratio_most']:.3f})"
                f" | {goal:.2f} |"
            )
    yield ""
    yield "| request | installation | CPU ms, service : floor | SQL statements |"
    yield "|---|---|---|---|"
    for name in ASKED:
        for title, figures in both(stored):
            one = figures[name]
            cpu = f"{one['service_cpu_ms']:.2f} : {one['floor_cpu_ms']:.2f}"
            yield f"| {name} | {title} | {cpu} | {one['statements']} |"
    yield from measured(stored)


def of_replies(stored: Stored) -> Table:
    yield "| | p99 of reads with : without replies | ratio | database connections | memory |"
    yield "|---|---|---|---|---|"
    for title, one in both(stored):
        beside, without = 1000 * one["reads_p99_beside_s"], 1000 * one["reads_p99_without_s"]
        yield (
            f"| {title} | {beside:.0f} : {without:.0f} ms | **{one['reads_p99_ratio']:.1f}**"
            f" | {one['database_connections']} | {one['memory_mib']:.0f} MiB |"
        )
    yield from measured(stored)


def of_sends(stored: Stored) -> Table:
    yield "| | messages delivered a second | answered a second | p99 of a send | CPU ms per send |"
    yield "|---|---|---|---|---|"
    for title, one in both(stored):
        yield (
            f"| {title} | **{one['sends_a_second']:.0f}** | {one['sends_a_second_accepted']:.0f}"
            f" | {1000 * one['sends_p99_s']:.0f} ms | {one['sends_cpu_ms']:.1f} |"
        )
    yield from measured(stored)


def of_growth(stored: Stored) -> Table:
    yield "| | installation | p50 | ratio | p99 | ratio |"
    yield "|---|---|---|---|---|---|"
    for title, figures in both(stored):
        for name, one in (figures["long_lists"] | figures["other_tenants"]).items():
            ms = {key: f"{1000 * value:.1f}" for key, value in one.items()}
            yield (
                f"| {name} | {title} | {ms['p50_many_s']} : {ms['p50_few_s']} ms"
                f" | {one['p50_ratio']:.2f} | {ms['p99_many_s']} : {ms['p99_few_s']} ms"
                f" | {one['p99_ratio']:.2f} |"
            )
    yield ""
    for title, figures in both(stored):
        bots = figures["many_bots"]
        yield (
            f"`my-chatbots` with {bots['bots']:,} bots, {title}: {bots['statements']} statements,"
            f" {1000 * bots['p50_s']:.0f} ms.\n"
        )
    yield from measured(stored)


def of_scale(stored: Stored) -> Table:
    titles = " | ".join(INSTALLATIONS.values())
    yield f"| | {titles} | target |"
    yield "|---|---|---|---|"
    for title, measure, name, form, asked in SCALE:
        cells = []
        for where in INSTALLATIONS:
            said = stored.get(measure, {}).get(where, {})
            found = said.get("figures", {}).get(name)
            size = f" (size {said['size']:g})" if found is not None and said["size"] != 1 else ""
            cells.append("-" if found is None else form.format(found) + size)
        if set(cells) == {"-"}:
            continue  # never measured
        yield f"| {title} | {' | '.join(cells)} | {asked} |"
    setups = {
        where: max(
            (measure[where] for measure in stored.values() if where in measure),
            key=lambda said: said["date"],
            default=None,
        )
        for where in INSTALLATIONS
    }
    yield from measured({where: {"size": 1} | said for where, said in setups.items() if said})


def of_lists(stored: Stored) -> Table:
    yield "| | pages | slowest page, with few : with many deliveries | ratios | target |"
    yield "|---|---|---|---|---|"
    for title, figures in both(stored):
        few, many = (max(one[name] for one in figures.values()) for name in ("few_s", "many_s"))
        ratios = sorted(one["ratio"] for one in figures.values())
        yield (
            f"| {title} | {len(figures)} | {1000 * few:.0f} : {1000 * many:.0f} ms"
            f" | {ratios[0]:.2f} to **{ratios[-1]:.2f}** | at most {MOST['lists']['ratio']:g} |"
        )
    yield from measured(stored)


def of_exports(stored: Stored) -> Table:
    first, memory = MOST["exports"].values()
    yield (
        f"| | first byte, at most {first:g} s | memory above idle, at most {memory:g} MB"
        " | whole export |"
    )
    yield "|---|---|---|---|"
    for title, one in both(stored):
        yield (
            f"| {title} | **{one['export_first_byte_s']:.2f} s**"
            f" | **{one['export_memory_above_idle_mb']:.0f} MB** | {one['export_whole_s']:.0f} s |"
        )
    yield from measured(stored)


def of_search(stored: Stored) -> Table:
    scopes = {
        "all": "superuser",
        "account": "account with every bot",
        "largest": "largest bot",
        "three": "three bots",
        "small": "small bot",
    }
    [most] = MOST["search"].values()
    yield f"| p95 | all searches, at most {most:g} ms | {' | '.join(scopes.values())} |"
    yield f"|---|---|{'---|' * len(scopes)}"
    for title, one in both(stored):
        figures = " | ".join(f"{one[f'search_{name}_p95_ms']:.0f} ms" for name in scopes)
        yield f"| {title} | **{one['search_p95_ms']:.0f} ms** | {figures} |"
    yield from measured(stored)


TABLES: dict[str, Callable[[Stored], Table]] = {
    "api": of_api,
    "replies": of_replies,
    "sends": of_sends,
    "growth": of_growth,
    "scale": of_scale,
    "lists": of_lists,
    "exports": of_exports,
    "search": of_search,
}
