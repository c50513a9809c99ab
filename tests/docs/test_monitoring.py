"""The dashboard and the alert rules refer only to existing metrics, and each rule is explained."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.groups import needs
from tests.servers.processes import ROOT
from tests.servers.prometheus import ALERTS

BOARD = ALERTS.with_name("board.json")
GUIDE = ROOT / "docs" / "monitoring.md"
NAME = re.compile(r"\bchatbots_[a-z_]+")


def run(*words: str, given: str = "") -> str:
    """Run promtool, assert that its exit code is 0, and return its output."""
    done = subprocess.run(
        [needs("promtool"), *words], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules() -> list[str]:
    return re.findall(r"- alert: (\w+)", ALERTS.read_text())


@pytest.fixture
def page(db: None) -> str:
    """The metrics page, with at least a HELP and a TYPE line for each metric."""
    from conversations import metrics, worker  # noqa: F401 - the import defines gauges

    text = Client().get("/metrics").content.decode()
    more = [f"# HELP {name} {words}\n# TYPE {name} gauge" for name, words in metrics.HELP.items()]
    return "\n".join([text, *(one for one in more if one.split()[2] not in text), ""])


def shown(page: str) -> set[str]:
    """Return the names of all series on a page."""
    names = set()
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", page, re.MULTILINE):
        suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        names |= {name + suffix for suffix in suffixes}
    return names


def expressions(value: Any) -> list[str]:
    """Return all queries in a dashboard's JSON."""
    if isinstance(value, dict):
        found = [value["expr"]] if "expr" in value else []
        return found + [one for each in value.values() for one in expressions(each)]
    return [one for each in value for one in expressions(each)] if isinstance(value, list) else []


def test_prometheus_accepts_the_rules_the_page_and_the_queries_of_the_dashboard(
    page: str, tmp_path: Path
) -> None:
    assert f"SUCCESS: {len(rules())} rules found" in run("check", "rules", str(ALERTS))
    run("check", "metrics", given=page)
    queries = expressions(json.loads(BOARD.read_text()))
    assert len(queries) > 15
    records = [{"record": f"query:{n}", "expr": expr} for n, expr in enumerate(queries)]
    file = tmp_path / "queries.json"
    text = json.dumps({"groups": [{"name": "board", "rules": records}]})
    file.write_text(text.replace("$__rate_interval", "5m"))
    run("check", "rules", str(file))


def test_every_metric_that_is_named_exists_and_the_guide_lists_all(page: str) -> None:
    known = shown(page) | {name.removesuffix("_bucket") for name in shown(page)}
    board = "\n".join(expressions(json.loads(BOARD.read_text())))
    for text in (ALERTS.read_text(), board, GUIDE.read_text()):
        named = set(NAME.findall(text))
        assert len(named) > 10
        assert not named - known
    families = set(re.findall(r"^# TYPE (chatbots_\w+) ", page, re.MULTILINE))
    assert not families - set(NAME.findall(GUIDE.read_text()))


def test_each_rule_is_explained() -> None:
    guide = GUIDE.read_text()
    assert [name for name in rules() if f"### {name}" not in guide] == []
