"""Packages and images are pinned by digest, and the lock files agree on versions."""

import re
import tomllib

import pytest

from config.settings import VERSION
from tests.house.source import ROOT

PIN = re.compile(
    r"^(?P<name>[a-z0-9.-]+)(?:\[[^\]]*\])?==(?P<version>\S+)(?P<marker> ; [^\\]*)?", re.M
)


def pins(group: str) -> dict[str, str]:
    """Return the version of each package in a lock file, keyed by package name."""
    text = (ROOT / "requirements" / f"{group}.txt").read_text()
    return {found["name"]: found["version"] for found in PIN.finditer(text)}


def test_the_tests_use_the_package_versions_of_the_service() -> None:
    assert pins("base").items() <= pins("dev").items()


@pytest.mark.parametrize("group", ["base", "dev"])
def test_every_package_is_pinned_by_its_digest_and_names_no_index(group: str) -> None:
    text = (ROOT / "requirements" / f"{group}.txt").read_text()
    entries = re.split(r"^(?=\S)", text, flags=re.M)
    without = [
        entry.split()[0] for entry in entries if "==" in entry and "--hash=sha256:" not in entry
    ]
    assert pins(group)
    assert not without
    assert not re.findall(r"^--?(?:i|f|index|extra|find|trusted)\b.*|https?://.*", text, re.M)


def test_every_image_is_pinned_by_its_digest() -> None:
    text = "\n".join((ROOT / name).read_text() for name in ("Dockerfile", "compose.yaml"))
    images = re.findall(r"^\s*(?:FROM|image:) (\S+)", text, flags=re.M)
    ours = {"chatbot-service"}
    tagged = {"caddy:2.10"}  # pinned by its version until its digest has been looked up
    assert len(images) >= 5
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in set(images) - ours - tagged)


def test_the_project_has_the_version_of_the_service() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
