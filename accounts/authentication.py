"""Authenticate requests by API key. Specification: Authentication, 1 to 4."""

from hmac import compare_digest

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts import keys
from accounts.models import ApiKey, User
from config.api.errors import InvalidKey
from config.runtime import logs


class BearerAuthentication(BaseAuthentication):
    """Authenticates the caller by the header `Authorization: Bearer <API_KEY>`."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey]:
        """Return the caller and the key. Raises InvalidKey, without a query if it is malformed."""
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not keys.well_formed(text):
            raise InvalidKey
        digest = keys.digest(text)
        key = ApiKey.objects.alive().select_related("user").filter(digest=digest).first()
        if key is None or not compare_digest(key.digest or "", digest):
            raise InvalidKey
        key.user.key_account = key.account_id
        logs.note(key=key.prefix, **({"account": str(key.account_id)} if key.account_id else {}))
        key.touch(timezone.now())
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme that a 401 response names in `WWW-Authenticate`."""
        return "Bearer"
