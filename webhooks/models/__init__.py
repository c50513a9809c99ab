from webhooks.models.attempt import Attempt
from webhooks.models.delivery import Delivery
from webhooks.models.endpoint import Endpoint

__all__ = ["Attempt", "Delivery", "Endpoint"]
