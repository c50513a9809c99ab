"""The settings of processes that tests start: the tests' database, and crash points."""

import os

from config.database.postgresql import base
from config.settings import *  # noqa: F403
from config.settings import CACHES, DATABASES
from tests.patience import PATIENCE, give_time
from tests.servers import crash

DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE_NAME"]
give_time(DATABASES["default"], CACHES["default"])
base.VERDICT = PATIENCE
BODY_TIMEOUT = float(os.environ.get("TEST_BODY_TIMEOUT", "30"))
crash.install(os.environ.get("TEST_CRASH_POINT", ""))
