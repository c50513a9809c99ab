"""Authenticate requests by API key. Specification: Authentication, 1 to 4."""

from datetime import datetime
from hmac import compare_digest
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts import keys
from accounts.caller import Caller
from accounts.models import ApiKey
from config.api.errors import InvalidKey
from config.database.locks import update_at_once
from config.database.prepared import Prepared, prepare
from config.runtime.context import current

COLUMNS = ("pk", "digest", "prefix", "user", "account", "last_used_at")


def working_key(*further: Any, digest: str, now: datetime) -> "QuerySet[ApiKey, tuple[Any, ...]]":
    """Select the working key with a digest. Reads COLUMNS, then the expressions in `further`."""
    matching = ApiKey.objects.alive(now).filter(digest=digest).order_by()
    return matching.values_list(*COLUMNS, *further)


KEY = prepare(working_key)


def authenticate(
    request: HttpRequest, statement: Prepared = KEY, **given: Any
) -> tuple[Caller, list[Any]]:
    """Find the caller by the `Authorization: Bearer <API_KEY>` header.

    Returns the caller, and the values that `statement` reads in addition to COLUMNS. `given` is
    passed to `statement`. A malformed key is rejected without a query. Raises InvalidKey.
    """
    scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer" or not keys.well_formed(text):
        raise InvalidKey
    digest, now = keys.digest(text), timezone.now()
    found = statement.first(digest=digest, now=now, **given)
    if found is None or not compare_digest(found[1] or "", digest):
        raise InvalidKey
    key, _, prefix, person, account, last_used_at, *further = found
    bound = str(account or "")
    known = current.get()._replace(key=prefix, account=bound, person=person)
    current.set(known._replace(via=f"API key {prefix}"))
    if last_used_at is None or now - last_used_at >= ApiKey.USED_EVERY:
        update_at_once(ApiKey.objects.filter(pk=key), last_used_at=now)
    return Caller(person, account), further
