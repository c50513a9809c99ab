"""Collect each version of the static files once, under hashed names and with compressed copies."""

import hashlib
import logging
import shutil
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

UNUSED = ["rest_framework", "swagger-ui-dist"]  # files for pages that this service does not have
# The source maps of minified scripts are large, and only developers load them.
UNCOMPRESSED: tuple[str, ...] = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")

logger = logging.getLogger(__name__)


def version(base_dir: Path) -> str:
    """Return a digest of the pinned packages and of our own static files."""
    digest = hashlib.sha256((base_dir / "requirements" / "base.txt").read_bytes())
    ours = base_dir / "config" / "static"
    for path in sorted(path for path in ours.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(ours)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def is_collected(folder: Path) -> bool:
    """Return whether a folder contains the manifest, which is written last."""
    return (folder / "staticfiles.json").is_file()


class Storage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # it has no types
    """Gives files their hashed names, or their original names until they have been collected."""

    def stored_name(self, name: str) -> str:
        """Return the name under which a file is served."""
        return str(super().stored_name(name)) if self.hashed_files else name


def collect() -> None:
    """Collect this version's files, and delete those of other versions.

    If collecting fails, the service serves the original files, uncompressed.
    """
    folder = Path(settings.STATIC_ROOT)
    if is_collected(folder):
        return
    try:
        call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=UNUSED)
        for other in folder.parent.iterdir():
            if other != folder:
                shutil.rmtree(other)
    except OSError as error:
        logger.warning("static files are served uncompressed: %s", error)
