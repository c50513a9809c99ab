"""Authenticate requests by API key. Specification: Authentication, 1 to 4."""

from hmac import compare_digest

from django.db.models import CharField, DateTimeField
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts import keys
from accounts.caller import Caller
from accounts.models import ApiKey
from config.api.errors import InvalidKey
from config.database.prepared import Given, prepared
from config.runtime import logs

KEY = prepared(
    lambda: (
        ApiKey.objects.alive(Given("now", DateTimeField()))
        .filter(digest=Given("digest", CharField()))
        .values_list("pk", "digest", "prefix", "user", "account", "last_used_at")
    )
)


class BearerAuthentication(BaseAuthentication):
    """Authenticates the caller by the header `Authorization: Bearer <API_KEY>`."""

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        """Return the caller. Raises InvalidKey, without a query if the key is malformed."""
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not keys.well_formed(text):
            raise InvalidKey
        digest, now = keys.digest(text), timezone.now()
        found = KEY.first(digest=digest, now=now)
        if found is None or not compare_digest(found[1] or "", digest):
            raise InvalidKey
        key, _, prefix, person, account, last_used_at = found
        logs.note(key=prefix, **({"account": str(account)} if account else {}))
        if last_used_at is None or now - last_used_at >= ApiKey.USED_EVERY:
            ApiKey.objects.filter(pk=key).update(last_used_at=now)
        return Caller(person, account), None

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme that a 401 response names in `WWW-Authenticate`."""
        return "Bearer"
