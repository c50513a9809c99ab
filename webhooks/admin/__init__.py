from webhooks.admin.delivery import DeliveryAdmin
from webhooks.admin.endpoint import EndpointAdmin

__all__ = ["DeliveryAdmin", "EndpointAdmin"]
