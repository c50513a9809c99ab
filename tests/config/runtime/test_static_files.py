"""The service collects its static files once, with hashed names, and compresses them."""

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.templatetags.static import static

from config.runtime import static_files
from conversations import processes
from tests.house.source import ROOT


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.STATIC_ROOT = tmp_path / "staticfiles" / "current"
    return tmp_path / "staticfiles" / "current"


def test_files_are_collected_once_with_hashed_names_and_compressed(folder: Path) -> None:
    assert static("pages/admin.css") == "/static/pages/admin.css"
    old = folder.parent / "previous"
    old.mkdir(parents=True)
    processes.collect_static_files()
    name = static("pages/admin.css").removeprefix("/static/")
    assert name.startswith("pages/admin.")
    assert name != "pages/admin.css"
    content = (folder / name).read_bytes()
    assert gzip.decompress((folder / f"{name}.gz").read_bytes()) == content
    assert not old.exists()
    assert not (folder / "rest_framework").exists()
    (folder / name).unlink()
    processes.collect_static_files()
    assert not (folder / name).exists()  # the second call collects nothing


def test_our_own_files_are_found_only_once() -> None:
    for path in (ROOT / "config" / "static").rglob("*.css"):
        name = path.relative_to(ROOT / "config" / "static")
        assert finders.find(str(name), find_all=True) == [str(path)]


def test_a_folder_that_cannot_be_filled_leaves_the_files_uncompressed(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir(parents=True)
    (folder / "admin").write_text("not a folder")
    processes.collect_static_files()
    assert "static files are served uncompressed" in caplog.text
    assert static("pages/admin.css") == "/static/pages/admin.css"


def test_the_version_changes_with_the_packages_and_the_files(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config" / "static", tmp_path / "config" / "static")
    (tmp_path / "requirements").mkdir()
    lock = tmp_path / "requirements" / "base.txt"
    lock.write_text("one")
    before = static_files.version(tmp_path)
    assert static_files.version(tmp_path) == before
    lock.write_text("two")
    packages = static_files.version(tmp_path)
    (tmp_path / "config" / "static" / "pages" / "new.css").write_text("")
    assert len({before, packages, static_files.version(tmp_path)}) == 3
