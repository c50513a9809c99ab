"""Limit pages and forms with django-ratelimit. While the cache is down, nothing is refused.

The API has its own limits (`config.api.limits`), because django-ratelimit takes 0.8 ms of CPU time
for each limit on Redis, which is more than most API requests take.

`limited` limits the calls of each address to a view, and `take` limits anything else. The names of
the limits are listed in `config.api.limits`.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django_ratelimit.core import get_usage

from config.api.cache_outage import outage
from config.api.limits import refuse
from config.environment import Rate
from config.middleware import counted_as

View = Callable[..., HttpResponseBase]


class PageLimit(NamedTuple):
    """A limit on the calls of one caller: a person, an address, or both."""

    name: str
    caller: str
    rate: Rate


def address_of(request: HttpRequest) -> str:
    """Return the key under which the client's address is counted."""
    return counted_as(request.META.get("REMOTE_ADDR", ""))


def used(limit: PageLimit, *, increment: bool) -> dict[str, Any] | None:
    """Return django-ratelimit's usage of a limit, or None if the cache is down."""
    return outage.attempt(
        partial(
            get_usage,
            HttpRequest(),  # not read, because the limit names its caller
            group=limit.name,
            key=lambda group, request: limit.caller,
            rate=limit.rate,
            increment=increment,
        )
    )


def take(*limits: PageLimit) -> Callable[[], None]:
    """Count a call against each limit, or against none if one is exceeded.

    Returns a function that gives back the counts. Raises TooManyRequests.

    django-ratelimit cannot subtract, so counts that were given back have a counter of their own. It
    is read before the call is counted. In this order, simultaneous calls never exceed a limit.
    """
    taken: list[PageLimit] = []

    def give_back() -> None:
        while taken:
            used(returned(taken.pop()), increment=True)

    for limit in limits:
        before = used(returned(limit), increment=False)
        now = used(limit, increment=True)
        if before is None or now is None:  # the cache is down
            continue
        taken.append(limit)
        if now["count"] - before["count"] > limit.rate[0]:
            give_back()
            refuse(limit.name, limit.rate, retry_after=max(1, now["time_left"]))
    return give_back


def returned(limit: PageLimit) -> PageLimit:
    """Return the limit whose count is the number of counts given back."""
    return limit._replace(name=f"{limit.name} given back")


def limited(name: str, rate: Callable[[], Rate | None]) -> Callable[[View], View]:
    """Decorate a view to limit the calls of each address. The view raises TooManyRequests."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **names: Any) -> HttpResponseBase:
            if current := rate():
                take(PageLimit(name, address_of(request), current))
            return view(request, *args, **names)

        return checked

    return decorate
