"""Every operation is called with valid and invalid data generated from the OpenAPI document."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.api.fields import Text
from tests.contract.conftest import Service
from tests.house.source import ROOT

KEY = {"$ref": "#/components/parameters/IdempotencyKey"}
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
# The number of examples for each operation. The default, 0, means three examples, which are enough
# to find common faults. With any other number, as in CI, sequences of calls are also tested.
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "0"))
SEED = os.environ.get("SCHEMATHESIS_SEED", "")  # if empty, every run generates the same data
RANDOM = ("examples", "fuzzing", "stateful") if EXAMPLES else ("examples", "fuzzing")


def document_without_keys() -> dict[str, Any]:
    """Return the document without Idempotency-Key.

    The service rightly returns a 400 if a key is reused with a different body.
    """
    document: dict[str, Any] = json.loads((ROOT / "openapi.json").read_text())
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["parameters"] = [one for one in operation["parameters"] if one != KEY]
    return document


def bare(part: Any) -> Any:
    """Return the document without examples and without the pattern that all text fields share.

    Otherwise, schemathesis would not try text of the maximum length in these fields.
    """
    if isinstance(part, list):
        return [bare(inner) for inner in part]
    if isinstance(part, dict):
        return {
            name: bare(inner)
            for name, inner in part.items()
            if name not in ("example", "examples") and (name, inner) != ("pattern", Text.PATTERN)
        }
    return part


def operations(document: dict[str, Any]) -> Iterator[str]:
    """Yield the method of every operation."""
    return (method for path in document["paths"].values() for method in path)


DOCUMENT = document_without_keys()


@pytest.mark.slow
@pytest.mark.proves("Endpoints", "HTTP statuses", "Bodies")
@pytest.mark.timeout(3600 if EXAMPLES else 900)
@pytest.mark.parametrize(
    ("phases", "document"),
    [
        pytest.param(RANDOM, DOCUMENT, id="random values"),
        pytest.param(("coverage",), bare(DOCUMENT), id="boundary values"),
    ],
)
def test_schemathesis_finds_no_violation(
    service: Service, tmp_path: Path, phases: tuple[str, ...], document: dict[str, Any]
) -> None:
    shutil.copy(CONFIGURATION, tmp_path)
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    ids = service.ids()
    for name, value in ids.items():
        (tmp_path / f"{name}.txt").write_text(json.dumps(value))
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("st")),
            *("--config-file", CONFIGURATION.name, "--no-color"),
            *("run", "openapi.json", "--url", service.address),
            *("--phases", ",".join(phases), "--max-examples", str(EXAMPLES or 3)),
            *(("--seed", SEED) if SEED else ("--generation-deterministic",)),
            *("--continue-on-failure", "--warnings", "off"),
            *("--suppress-health-check", "too_slow"),  # this check depends on the machine's speed
        ],
        cwd=tmp_path,
        env=os.environ | ids | {"API_KEY": service.key},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert f"Tested: {len(list(operations(document)))}" in done.stdout
