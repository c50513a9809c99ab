from webhooks.models.attempt import Attempt
from webhooks.models.delivery import Delivery
from webhooks.models.endpoint import Endpoint
from webhooks.models.retry_job import RetryJob, RetryPart

__all__ = ["Attempt", "Delivery", "Endpoint", "RetryJob", "RetryPart"]
