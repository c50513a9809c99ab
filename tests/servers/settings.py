"""The settings of processes that tests start: the tests' database, and places to die at."""

import os

from config.settings import *  # noqa: F403
from config.settings import DATABASES

DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE_NAME"]
CRASH_POINT = os.environ.get("TEST_CRASH_POINT", "")
