"""Count each request against the limits of its address and its user. Specification: Limits.

The address is counted before the key is checked, so the user is not known yet. But a process
remembers the users of recent keys. It counts the address and the user that the key had before in
one round trip, and undoes the user's count unless the key turns out to be valid.
"""

import hashlib
from contextlib import suppress
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest

from config.api import limits
from config.api.errors import TooManyRequests
from config.api.limits import Counted, Unanswered

CALL = "config.call"  # key in request.META for the request's Call
MOST = 10_000  # maximum number of remembered keys; beyond it, all are forgotten

users: dict[bytes, str] = {}  # the id of each recent key's user, by the digest of the header


class Early(NamedTuple):
    """A user's count that the check of the key has yet to confirm."""

    user: str
    counted: Counted | None


class Call:
    """What a request has been counted for. It stays the same if another thread starts it again."""

    def __init__(self) -> None:
        self.counted: set[str] = set()  # names of limits
        self.early: Early | None = None


def call_of(request: HttpRequest) -> Call:
    """Return the request's Call."""
    call: Call = request.META.setdefault(CALL, Call())
    return call


def digest(request: HttpRequest) -> bytes:
    """Return what identifies the request's key, without containing it."""
    return hashlib.sha256(request.META.get("HTTP_AUTHORIZATION", "").encode()).digest()


def count_address(request: HttpRequest, address: str) -> None:
    """Count a request by its address, and its probable user with it. Raises TooManyRequests."""
    call, rate, of_user = call_of(request), settings.RATE_LIMIT_IP, settings.RATE_LIMIT_USER
    if not rate or "address" in call.counted:
        return
    windows = [("address", address, rate)]
    user = users.get(digest(request)) if of_user and limits.counters.remote else None
    if user:
        windows.append(("user", user, of_user))
    try:
        counted, *early = limits.increment_each(windows)
    except Unanswered:
        call.counted.update(name for name, _, _ in windows)
        raise
    call.counted.add("address")
    if user:
        call.early = Early(user, early[0])
    try:
        limits.refuse_beyond("address", counted, rate)
    except TooManyRequests:
        settle(request)
        raise


def count_user(request: HttpRequest, user: object) -> None:
    """Count a request by its user, whose key is valid. Raises TooManyRequests."""
    call, rate = call_of(request), settings.RATE_LIMIT_USER
    if not rate or "user" in call.counted:
        return
    if call.early and call.early.user == str(user):
        counted, call.early = call.early.counted, None
    else:
        settle(request)
        try:
            counted = limits.increment("user", str(user), rate)
        except Unanswered:
            call.counted.add("user")
            raise
        if limits.counters.remote:
            remember(request, str(user))
    call.counted.add("user")
    limits.refuse_beyond("user", counted, rate)


def remember(request: HttpRequest, user: str) -> None:
    """Remember whose key the request has."""
    if len(users) >= MOST:
        users.clear()
    users[digest(request)] = user


def settle(request: HttpRequest) -> None:
    """Undo a user's count that was not confirmed, and forget whose key it was."""
    call = call_of(request)
    if early := call.early:
        users.pop(digest(request), None)
        with suppress(Unanswered):  # the value is not needed
            limits.give_back(early.counted)
        call.early = None
