"""Settings for processes that tests start: the test database, long timeouts and crash points."""

import os

from config.database import availability
from config.settings import *  # noqa: F403
from config.settings import CACHES, DATABASES, STATE_DIR
from tests.patience import PATIENCE, give_time
from tests.servers import crash

DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE_NAME"]
give_time(DATABASES["default"], CACHES["default"])
availability.ATTEMPT = int(PATIENCE)
BODY_TIMEOUT = float(os.environ.get("TEST_BODY_TIMEOUT", "30"))
METRICS_FRESH = float(os.environ.get("TEST_METRICS_FRESH", "5"))
crash.install(os.environ.get("TEST_CRASH_POINT", ""))
# Serve static files directly from the packages, even if `make run` has already collected the files.
STATIC_ROOT = os.environ.get(  # type: ignore[assignment] # Django takes both
    "TEST_STATIC_ROOT", f"{STATE_DIR}/staticfiles/collected"
)
WHITENOISE_USE_FINDERS = "TEST_STATIC_ROOT" not in os.environ
