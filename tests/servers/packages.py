"""Import packages that the service uses, so that forked processes need not import them again.

Modules that read Django's settings or the environment at import time are left out. One example is
prometheus_client. Each forked process imports those modules itself.
"""

import gc
import importlib

PACKAGES = (
    *("celery.app.control", "celery.app.log", "celery.bin.celery", "celery.concurrency.thread"),
    *("celery.fixups.django", "celery.worker.worker", "celery.worker.consumer"),
    "kombu.transport.memory",
    *("cryptography.fernet", "cryptography.x509", "dj_database_url", "dj_email_url", "environs"),
    *("django.contrib.admin", "django.contrib.staticfiles.finders", "django.core.mail.message"),
    *("django.core.management.commands.check", "django.db.models", "django.forms"),
    *("django.template.defaultfilters", "django.test.client", "django.views.generic"),
    *("django_stubs_ext", "orjson", "psycopg_pool", "requests", "rest_framework.fields"),
    *("sqlparse", "tqdm", "uritemplate", "uuid_utils", "whitenoise.middleware", "yaml"),
)

for name in PACKAGES:
    importlib.import_module(name)
gc.freeze()
