"""Authenticate requests by API key. Specification: Authentication, 1 to 4."""

from hmac import compare_digest
from typing import Any

from django.db.models import CharField, DateTimeField, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication

from accounts import keys
from accounts.caller import Caller
from accounts.models import ApiKey
from config.api.errors import InvalidKey
from config.database.locks import update_at_once
from config.database.prepared import Given, Prepared, prepared
from config.runtime.context import current

COLUMNS = ("pk", "digest", "prefix", "user", "account", "last_used_at")


def read_key(*further: Any) -> "QuerySet[ApiKey, tuple[Any, ...]]":
    """Build the query that finds a working key by its digest. It reads COLUMNS, then `further`."""
    alive = ApiKey.objects.alive(Given("now", DateTimeField()))
    matching = alive.filter(digest=Given("digest", CharField())).order_by()
    return matching.values_list(*COLUMNS, *further)


KEY = prepared(read_key)


class BearerAuthentication(BaseAuthentication):
    """Authenticates the caller by the `Authorization: Bearer <API_KEY>` header."""

    def authenticate(
        self,
        request: HttpRequest,
        statement: Prepared[tuple[Any, ...]] = KEY,
        *shape: Any,
        **given: Any,
    ) -> tuple[Caller, list[Any]]:
        """Return the caller, and the values that `statement` reads in addition to COLUMNS.

        `shape` and `given` are passed to `statement`. A malformed key is rejected without a
        query. Raises InvalidKey.
        """
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not keys.well_formed(text):
            raise InvalidKey
        digest, now = keys.digest(text), timezone.now()
        found = statement.first(*shape, digest=digest, now=now, **given)
        if found is None or not compare_digest(found[1] or "", digest):
            raise InvalidKey
        key, _, prefix, person, account, last_used_at, *further = found
        bound = str(account or "")
        known = current.get()._replace(key=prefix, account=bound, person=person)
        current.set(known._replace(via=f"API key {prefix}"))
        if last_used_at is None or now - last_used_at >= ApiKey.USED_EVERY:
            update_at_once(ApiKey.objects.filter(pk=key), last_used_at=now)
        return Caller(person, account), further
