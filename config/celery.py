"""The Celery app. A worker's dispatcher runs the tasks; no work is sent through the broker."""

import logging
import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings

from config.runtime.broker import QuickAMQP

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Django's checks load all pages and routes, which a worker never uses.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("config", amqp=QuickAMQP)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=True,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    worker_pool="threads",
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_channel_error_retry=True,  # such errors occur if Redis has become a replica
    timezone="UTC",
)
app.autodiscover_tasks(["webhooks", "accounts", "conversations"])
app.steps["worker"].add("conversations.dispatcher:DispatcherStep")


@setup_logging.connect(weak=False)
def keep_logging(**_: Any) -> None:
    """Log in the service's format instead of Celery's plain text."""
    logging.config.dictConfig(settings.LOGGING)
    logging.captureWarnings(True)
