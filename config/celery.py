"""The Celery app. It carries what the database owns; it never keeps work of its own."""

import os

from celery import Celery

from config.broker import QuickAMQP

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Django's checks load every page and route, which a worker never uses; web runs them.
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
    timezone="UTC",
)
app.autodiscover_tasks(["webhooks", "accounts"])
app.steps["worker"].add("config.dispatcher:DispatcherStep")
