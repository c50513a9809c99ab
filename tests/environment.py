"""Choose the database and cache for the tests, before Django reads its settings.

The tests use the servers at TEST_DATABASE_URL and TEST_REDIS_URL. If neither is set, they use the
embedded default: SQLite, without Redis. The variables that this module sets override the
developer's environment and .env.
"""

import os
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet

database, cache = os.environ.get("TEST_DATABASE_URL", ""), os.environ.get("TEST_REDIS_URL", "")
if bool(database) != bool(cache):
    raise SystemExit("set both TEST_DATABASE_URL and TEST_REDIS_URL, or neither")

if "TEST_STATE_DIR" not in os.environ:  # parallel workers inherit the variables below
    os.environ["TEST_STATE_DIR"] = tempfile.mkdtemp(prefix="chatbots-test-")
    os.environ["TEST_ENCRYPTION_KEY"] = Fernet.generate_key().decode()
    os.environ["TEST_RUN"] = Path(os.environ["TEST_STATE_DIR"]).name

worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
os.environ.update(
    STATE_DIR=f"{os.environ['TEST_STATE_DIR']}/{worker}",
    DATABASE_URL=database,
    REDIS_URL=cache,
    REDIS_PREFIX=f"{os.environ['TEST_RUN']}-{worker}",
    SECRET_KEY="only for tests",
    ENCRYPTION_KEYS=os.environ["TEST_ENCRYPTION_KEY"],
    PUBLIC_URL="http://127.0.0.1:8000",
    ALLOWED_HOSTS="localhost,127.0.0.1,testserver",
    RATE_LIMIT_IP="off",
    RATE_LIMIT_USER="off",
    WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8",
    EMAIL_URL="console:",
    DEBUG="0",
    ENV_FILE=os.devnull,
)
for name in [name for name in os.environ if name.startswith("LLM_")]:
    del os.environ[name]
