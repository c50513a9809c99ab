"""Scrape the metrics of real processes, and let promtool apply the alert rules to them."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.groups import needs
from tests.servers.processes import ROOT

ALERTS = ROOT / "docs" / "monitoring" / "alerts.yml"
FIRING = 'max by (alertname) (ALERTS{alertstate="firing"})'
LASTING = 500  # how long a fault lasts, in scrape intervals
Series = tuple[str, tuple[tuple[str, str], ...]]
Scrape = dict[Series, float]
COUNTED = ("_total", "_bucket", "_count", "_sum")


def page_of(address: str) -> str | None:
    """Return a process's metrics page, or None if the request fails."""
    try:
        answer = requests.get(f"{address}/metrics", timeout=10)
    except requests.RequestException:
        return None
    return answer.text if answer.ok else None


def scrape(addresses: Iterable[str]) -> Scrape:
    """Read metrics pages as Prometheus does: add `up` and the labels `job` and `instance`."""
    found: Scrape = {}
    for address in addresses:
        target = {"job": "chatbots", "instance": address.removeprefix("http://")}
        page = page_of(address)
        found["up", tuple(target.items())] = float(page is not None)
        for family in text_string_to_metric_families(page or ""):
            for sample in family.samples:
                found[sample.name, tuple((target | sample.labels).items())] = sample.value
    return found


def series(scrapes: Sequence[Scrape]) -> list[dict[str, str]]:
    """Convert scrapes to promtool's notation, and extrapolate beyond the last scrape.

    Gauges keep their last value. Counters keep growing as they did between the last two scrapes.
    """
    last, before = scrapes[-1], scrapes[-2]
    written = []
    for key in {key for each in scrapes for key in each}:
        name, labels = key
        words = [str(each.get(key, "_")) for each in scrapes]
        if key in last:
            grown = last[key] - before.get(key, 0.0) if name.endswith(COUNTED) else 0.0
            words.append(f"{last[key] + grown}+{max(0.0, grown)}x{LASTING}")
        inside = ",".join(f"{label}={json.dumps(value)}" for label, value in labels)
        written.append({"series": f"{name}{{{inside}}}", "values": " ".join(words)})
    return written


def firing(*scrapes: Scrape) -> set[str]:
    """Return the alerts that fire if the trend of the last two scrapes continues for two hours.

    The names are returned without the prefix `Chatbots`, which all alerts share.
    """
    test = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "15s",
                "input_series": series(scrapes),
                "promql_expr_test": [{"expr": FIRING, "eval_time": "2h", "exp_samples": []}],
            }
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "alerts.json"  # JSON is valid YAML
        file.write_text(json.dumps(test))
        done = subprocess.run(
            [needs("promtool"), "test", "rules", str(file)], capture_output=True, text=True
        )
    said = done.stdout + done.stderr
    assert done.returncode == 0 or "got:" in said, said
    return set(re.findall(r'alertname="Chatbots(\w+)"', said.partition("got:")[2]))
