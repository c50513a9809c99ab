"""Factories for valid endpoints and deliveries. They need no arguments."""

from typing import Any

from django.db.models import Model
from django.utils import timezone
from factory import LazyAttribute, SubFactory

from tests.factories.chatbots import ChatbotFactory
from tests.factories.row import RowFactory
from webhooks import masking, sealing
from webhooks.models import Delivery, Endpoint

SECRET = "a-secret-of-the-tests"


class EndpointFactory(RowFactory):
    """An endpoint. The argument `secret` is the signing secret in plain text."""

    class Meta:
        model = Endpoint

    chatbot = SubFactory(ChatbotFactory)
    url = "https://127.0.0.1:9/hook"

    @classmethod
    def _create(cls, model_class: type[Model], *args: Any, **fields: Any) -> Endpoint:
        secret = fields.pop("secret", SECRET)
        sealed = {
            "sealed_secret": sealing.seal(secret),
            "masked_secret": masking.mask(secret),
            "secret_made_at": timezone.now(),
        }
        return super()._create(model_class, *args, **sealed | fields)


class DeliveryFactory(RowFactory):
    class Meta:
        model = Delivery

    chatbot = SubFactory(ChatbotFactory)
    account = LazyAttribute(lambda delivery: delivery.chatbot.account)
    event = "NEW_MESSAGE"
    body = b'{"event":"NEW_MESSAGE","data":{}}'
    due_at = LazyAttribute(lambda _: timezone.now())
