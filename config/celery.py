"""The Celery app. A worker's scheduler publishes the tasks; see docs/delivery.md.

deliveries  deliveries to endpoints that respond
slow        deliveries to endpoints that were never tried, timed out last time or are deleted
celery      emails, owed replies and periodic work
"""

import logging
import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Django's checks load all pages and routes, which a worker never uses.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("config")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=True,
    task_queues=[Queue(name, routing_key=name) for name in ("deliveries", "slow", "celery")],
    task_default_queue="celery",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_pool="threads",
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_channel_error_retry=True,  # such errors occur if Redis has become a replica
    timezone="UTC",
)
app.autodiscover_tasks(["accounts", "chatbots", "webhooks", "conversations"])
app.steps["worker"].add("conversations.worker:SchedulerStep")


@setup_logging.connect(weak=False)
def keep_logging(**_: Any) -> None:  # Any: arguments that only Celery uses
    """Log in the service's format instead of Celery's plain text."""
    logging.config.dictConfig(settings.LOGGING)
    logging.captureWarnings(True)
