from webhooks.admin.delivery import DeliveryAdmin
from webhooks.admin.retry_job import RetryJobAdmin

__all__ = ["DeliveryAdmin", "RetryJobAdmin"]
