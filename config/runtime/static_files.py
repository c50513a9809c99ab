"""Store static files in a folder for each version, with hashed names and compressed copies."""

import hashlib
from pathlib import Path

from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

# The source maps of minified scripts are large, and only developers load them.
UNCOMPRESSED: tuple[str, ...] = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")


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
