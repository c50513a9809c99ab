"""Only the service's user can read the files in the state folder."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from config.runtime import state
from tests.patience import PATIENCE


class TestKeptSecret:
    """Secrets that are generated once and kept in a file."""

    def test_it_is_generated_once_and_readable_only_by_its_owner(self, tmp_path: Path) -> None:
        first = state.kept_secret(tmp_path / "new", "key", lambda: "made")
        again = state.kept_secret(tmp_path / "new", "key", lambda: "made again")
        assert first == again == "made"
        [kept] = (tmp_path / "new").iterdir()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    def test_concurrent_first_reads_agree_on_one_secret(self, tmp_path: Path) -> None:
        together = Barrier(8)

        def read(number: int) -> str:
            # The barrier opens when all threads have found that there is no secret.
            made = lambda: f"made by {number}, {together.wait(PATIENCE)}"  # noqa: E731
            return state.kept_secret(tmp_path, "key", made)

        with ThreadPoolExecutor(8) as threads:
            found = threads.map(read, range(8))
        assert len(set(found)) == 1
        assert [path.name for path in tmp_path.iterdir()] == ["key"]
