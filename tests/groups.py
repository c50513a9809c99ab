"""Skip or fail tests that need a missing tool, and report how many were skipped for each tool.

This is a pytest plugin, which conftest.py lists in `pytest_plugins`. A test gets the path of a tool
by calling `needs`, for example `needs("chromium")`. If the tool is missing, the test is skipped,
and a summary at the end of the run names the tool. With REQUIRE_ALL_GROUPS=1, which is set in CI,
the test fails instead.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

# The commands that provide each tool, in order of preference. `chromium-headless-shell` is first
# because it has no user interface, which would use more than a third of the CPU time.
TOOLS = {
    "chromium": ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
    "node": ("node", "nodejs"),
}
REQUIRED = os.environ.get("REQUIRE_ALL_GROUPS", "") not in ("", "0")
REASON = re.compile(r"needs (\S+), which is not on this machine")


def needs(tool: str) -> str:
    """Return a tool's path. If the tool is missing, skip or fail the calling test or module."""
    for command in TOOLS.get(tool, (tool,)):
        if path := shutil.which(command):
            return path
    reason = f"needs {tool}, which is not on this machine"
    if REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, Any, Any]:
    """Print how many tests were skipped for each missing tool, just above pytest's last line."""
    result = yield
    reasons = (str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    left_out = Counter(found[1] for reason in reasons if (found := REASON.search(reason)))
    if left_out:
        terminalreporter.section("missing tools", sep="-", yellow=True)
    for tool, count in sorted(left_out.items()):
        terminalreporter.line(f"{tool} is missing: {count} skipped")
    return result
