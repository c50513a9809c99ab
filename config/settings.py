"""Django's settings. Only this module reads settings from the environment.

The table in README.md explains each variable.
"""

import os
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from cryptography.fernet import Fernet
from django.core.management.utils import get_random_secret_key
from marshmallow.validate import Length, Range

from config.admin import theme
from config.database.lengths import SHORT
from config.database.postgresql import settings as postgresql
from config.environment import environment, header_values, refusal, refuse
from config.runtime import logs, state, static_files

django_stubs_ext.monkeypatch()  # lets Django's generic classes take type arguments at run time

VERSION = "1.0.0"  # the version of the service and its API
BASE_DIR = Path(__file__).resolve().parent.parent
env, faults = environment(Path(os.environ.get("ENV_FILE") or BASE_DIR / ".env"))

# Addresses, state folder, processes
HOST = env.host("HOST", "127.0.0.1")
PORT = env.int("PORT", 8000, validate=Range(min=1, max=65_535))
STATE_DIR = (BASE_DIR / (env.str("STATE_DIR", "") or "var")).absolute()
REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(HOST, HOST)
REACHED_AT = f"[{REACHED_AT}]" if ":" in str(REACHED_AT) else REACHED_AT
PUBLIC_URL = env.public_url("PUBLIC_URL", "") or f"http://{REACHED_AT}:{PORT}"
DEBUG = env.bool("DEBUG", False)
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES", "")
WEB_WORKERS = env.int("WEB_WORKERS", None, validate=Range(min=1, max=1_000))
WEB_THREADS = env.int("WEB_THREADS", 250, validate=Range(min=1, max=10_000))
# There are many threads, because most of them may be waiting for receivers that do not respond.
WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", 512, validate=Range(min=1, max=10_000))
ACCESS_LOG = env.bool("ACCESS_LOG", True)

DATABASE_URL = env.database_url("DATABASE_URL", "")
REDIS_URL = env.redis_url("REDIS_URL", "")
REDIS_PREFIX = env.str("REDIS_PREFIX", "chatbots")
# Must be off behind a pooler that may run each transaction in a different session and does not
# support prepared statements.
PREPARED_STATEMENTS = env.bool("PREPARED_STATEMENTS", True)
EMBEDDED = not DATABASE_URL
EXPOSED = EMBEDDED and HOST not in ("127.0.0.1", "::1")  # a demo open to the network
MACHINE_BOUND = not (DATABASE_URL and REDIS_URL)  # limited to one web process and one worker

SECRET_KEY = env.str("SECRET_KEY", "")
ENCRYPTION_KEYS = env.fernet_keys("ENCRYPTION_KEYS", "")

# Limits, webhooks, models, email
RATE_LIMIT_IP = env.rate("RATE_LIMIT_IP", "100/1s")
RATE_LIMIT_USER = env.rate("RATE_LIMIT_USER", "500/60s")
SENDING = env.bool("SENDING", True)  # if False, webhook deliveries and emails are held back
WEBHOOK_TIMEOUT = env.float("WEBHOOK_TIMEOUT", 10.0, validate=Range(min=0.1, max=3600))
WEBHOOK_RETRY_DELAYS = env.delays("WEBHOOK_RETRY_DELAYS", "1,5,25")
WEBHOOK_ALLOWED_NETWORKS = env.networks("WEBHOOK_ALLOWED_NETWORKS", "")
WEBHOOK_CA_BUNDLE = env.certificates("WEBHOOK_CA_BUNDLE", "") or None
WEBHOOK_FAILURE_MAIL_AFTER = env.period("WEBHOOK_FAILURE_MAIL_AFTER", "3600")
WEBHOOK_RETENTION_DAYS = env.int("WEBHOOK_RETENTION_DAYS", 30, validate=Range(min=1, max=36_500))
AUDIT_RETENTION_DAYS = env.int("AUDIT_RETENTION_DAYS", 730, validate=Range(min=1, max=36_500))
LLM_BASE_URL = env.web_url("LLM_BASE_URL", "", validate=Length(max=SHORT))
LLM_MODEL = env.str("LLM_MODEL", "", validate=Length(max=100))
LLM_TIMEOUT = env.float("LLM_TIMEOUT", 30.0, validate=Range(min=0.1, max=3600))
LLM_KEYS = {name: os.environ[name] for name in os.environ if name.startswith("LLM_API_KEY")}
METRICS_PORT = env.int("METRICS_PORT", None, validate=Range(min=1, max=65_535))
MAIL = env.email_url("EMAIL_URL", "console:")
ALLOWED_HOSTS = env.allowed_hosts("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")

try:
    if MACHINE_BOUND:
        state.make_private(STATE_DIR)
except OSError as error:
    faults["STATE_DIR"] = [f"{error.filename or STATE_DIR}: {error.strerror}"]
if not EMBEDDED:
    required = {"SECRET_KEY": SECRET_KEY, "ENCRYPTION_KEYS": ENCRYPTION_KEYS}
    faults |= {n: ["must be set if DATABASE_URL is set"] for n in required if not required[n]}
refuse(env, faults | header_values(LLM_KEYS))

ALLOWED_HOSTS += filter(None, [urlsplit(PUBLIC_URL).hostname])
try:
    if EMBEDDED:
        # Never opens an existing file: closing it would drop the locks of this process.
        (STATE_DIR / "database.sqlite3").touch(mode=0o600)
    SECRET_KEY = SECRET_KEY or state.kept_secret(STATE_DIR, "secret_key", get_random_secret_key)
    ENCRYPTION_KEYS = ENCRYPTION_KEYS or (
        state.kept_secret(
            STATE_DIR, "encryption_key", lambda: Fernet.generate_key().decode(), check=Fernet
        ),
    )
except OSError as error:
    raise refusal({"STATE_DIR": [f"{error.filename or STATE_DIR}: {error.strerror}"]}) from None
except ValueError as error:
    raise refusal({"STATE_DIR": [str(error)]}) from None

# Maximum number of model replies that a web process waits for at the same time. Its other threads
# stay free for reads and probes.
REPLIES_IN_FLIGHT = max(1, WEB_THREADS * 4 // 5)
REPLIES_IN_FLIGHT_OF_ACCOUNT = max(1, REPLIES_IN_FLIGHT // 2)
# The folder in which the processes that `serve` starts share their metrics. `serve` passes it to
# them in the environment variable that prometheus_client reads.
METRICS_DIR = Path(shared) if (shared := os.environ.get("PROMETHEUS_MULTIPROC_DIR")) else None
METRICS_FRESH = 5.0  # seconds until the metrics page reads the database again; shorter in tests
# Time limit in seconds for receiving a request's body, checked after every 16 KiB; shorter in tests
BODY_TIMEOUT = 30.0

# Django
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
AUTH_USER_MODEL = "accounts.User"
AUDITLOG_LOGENTRY_MODEL = "accounts.Change"
MIGRATION_MODULES = {"auditlog": None}  # its migrations would create a table that we do not use
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False
TIME_ZONE = "UTC"
INSTALLED_APPS = [
    "config",
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "config.admin.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "auditlog",
    "accounts",
    "chatbots",
    "webhooks",
    "conversations",
]
# API requests pass through all of it, because skipping sessions, users and messages would save less
# than 10 % of a short request.
MIDDLEWARE = [
    "config.middleware.RequestMiddleware",
    "config.page_middleware.CompressionMiddleware",
    "config.page_middleware.ContentSecurityPolicyMiddleware",
    "config.admin.error_pages.ErrorPagesMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.HostMiddleware",
    "config.page_middleware.InputMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles" / static_files.version(BASE_DIR)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.runtime.static_files.Storage"},
}
WHITENOISE_USE_FINDERS = not static_files.is_collected(STATIC_ROOT)
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = static_files.UNCOMPRESSED
warnings.filterwarnings("ignore", message="No directory at", category=UserWarning)
AUTHENTICATION_BACKENDS = ["accounts.staff.RoleBackend"]
PASSWORD_RESET_TIMEOUT = 3600  # seconds
PASSWORD_HASHERS = ["accounts.hashing.PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Large enough for the largest conversation starter, which an admin form sends percent-encoded.
# Forms stay below Django's limit of 1,000 fields, because they split their rows into pages.
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024

# Browsers
SECURE = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
# The proxy that terminates TLS also redirects HTTP to HTTPS. The operator decides whether HSTS
# covers subdomains and whether browsers preload it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "config.api.errors.permission_denied"

# Database, cache and broker: embedded by default, otherwise PostgreSQL and Redis
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "config.database.sqlite",
        "NAME": STATE_DIR / "database.sqlite3",
        "CONN_MAX_AGE": None,
        "TEST": {"NAME": STATE_DIR / "test.sqlite3"},
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
            "detect_types": 0,  # the fields convert values
            "cached_statements": 512,
        },
    }
    if EMBEDDED
    else postgresql.database(DATABASE_URL)
}
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": REDIS_PREFIX,
        "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    }
    if REDIS_URL
    else {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},  # Django's default would evict form tokens in use
    },
}
# django-ratelimit is not in INSTALLED_APPS, because that would only add system checks, which reject
# both caches: the one in memory, because processes do not share it (without Redis, only one process
# exists), and Django's own cache in Redis, because it is not on the list of known caches.
RATELIMIT_FAIL_OPEN = True
CELERY_BROKER_URL = REDIS_URL or "memory://localhost"  # without Redis: inside the worker
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {
        "global_keyprefix": f"{REDIS_PREFIX}:",
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "ack_emulation": False,  # rows, not messages, remember what must be done
        "priority_steps": [0],
    }
    if REDIS_URL
    else {"polling_interval": 0.02}
)
CELERY_WORKER_CONCURRENCY = WORKER_CONCURRENCY
# How many tasks may reuse a database connection before it is closed or returned to the pool.
# SQLite has no pool, so its connections stay open.
CELERY_DB_REUSE_MAX = 1_000_000_000 if EMBEDDED else 0

# Email
EMAIL_BACKEND, EMAIL_FILE_PATH = MAIL["EMAIL_BACKEND"], MAIL["EMAIL_FILE_PATH"]
EMAIL_HOST, EMAIL_PORT = MAIL["EMAIL_HOST"], MAIL["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL["EMAIL_HOST_USER"], MAIL["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = MAIL["EMAIL_USE_TLS"], MAIL["EMAIL_USE_SSL"]
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = MAIL.get("DEFAULT_FROM_EMAIL") or "chatbots@localhost"

LOGGING = logs.LOGGING

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    # Used only for the OpenAPI document, because `config.api` reads and writes the bodies.
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "config.api.schema.OperationSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Chatbot management and conversation service",
    "VERSION": VERSION,  # config/api/openapi.yaml contains the texts
    "OAS_VERSION": "3.1.0",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "COMPONENT_SPLIT_PATCH": False,
    "CAMELIZE_NAMES": True,
    "PATH_CONVERTER_OVERRIDES": {"str": {"type": "string", "format": "uuid"}},
    "SCHEMA_PATH_PREFIX": r"/api/v[01]",
    "PREPROCESSING_HOOKS": ["config.api.schema.only_the_api"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.api.schema.name_inputs",
        "config.api.schema.add_shared_parts",
        "accounts.document.add_idempotency_key",
        "webhooks.document.add_events",
    ],
}
UNFOLD = theme.UNFOLD
ADMIN_START = "/admin/conversations/thread/"  # the inbox, to which an accepted invitation leads
ADMIN_SEARCH = "conversations.admin.finder.find"  # the search behind Ctrl+K
ADMIN_PASSWORD_FORM = "accounts.sign_in.PasswordForm"  # noqa: S105 - the path of a class
LOGIN_URL, LOGIN_REDIRECT_URL = "admin:login", "admin:index"
