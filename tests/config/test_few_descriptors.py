"""While no file descriptor is free, requests get their documented responses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.processes import ROOT

ASK = """
import os, resource
import django
django.setup()
from django.test import Client
from accounts import keys
client = Client(raise_request_exception=False)
def ask(path, key=keys.make().text):
    return client.get(path, headers={"Authorization": "Bearer " + key})
for path in ("/readyz", "/other", "/api/v1/chatbots"):
    ask(path, "not a key")  # loads the modules that requests use
from django.db import connection
connection.close()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
answers = [ask(path) for path in ("/api/v1/chatbots", "/unknown")]
for each in held:
    os.close(each)
print([(answer.status_code, answer.headers.get("Retry-After")) for answer in answers])
"""


@pytest.mark.proves("Response envelope")
def test_without_a_free_descriptor_the_database_is_unavailable(tmp_path: Path) -> None:
    """Django's log escapes each path with a codec, which must have been loaded before."""
    environment = {
        "PATH": os.environ["PATH"],
        "STATE_DIR": str(tmp_path / "state"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ALLOWED_HOSTS": "testserver",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.stdout == "[(503, '1'), (404, None)]\n", done.stderr
