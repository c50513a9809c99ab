"""The two lock files: everything by its digest, and the same versions in both."""

import re

import pytest

from tests.house.source import ROOT

PIN = re.compile(
    r"^(?P<name>[a-z0-9.-]+)(?:\[[^\]]*\])?==(?P<version>\S+)(?P<marker> ; [^\\]*)?", re.M
)


def pins(group: str) -> dict[str, str]:
    """Name and version of everything a lock file installs."""
    text = (ROOT / "requirements" / f"{group}.txt").read_text()
    return {found["name"]: found["version"] for found in PIN.finditer(text)}


def test_tests_run_on_the_versions_that_the_service_is_installed_with():
    assert pins("base").items() <= pins("dev").items()


@pytest.mark.parametrize("group", ["base", "dev"])
def test_everything_is_pinned_by_its_digest(group):
    text = (ROOT / "requirements" / f"{group}.txt").read_text()
    entries = re.split(r"^(?=\S)", text, flags=re.M)
    without = [
        entry.split()[0] for entry in entries if "==" in entry and "--hash=sha256:" not in entry
    ]
    assert pins(group)
    assert not without
