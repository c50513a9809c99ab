"""Build the URLs of the admin's routes, using the ids of one account's rows."""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from accounts.models import User
from config.admin.export import FORMATS
from tests.factories.tenant import Tenant

LEAVES = {"logout"}  # routes that end the session


def routes(found: list[Any]) -> Iterator[tuple[str | None, set[str]]]:
    """Yield the name of each admin route, and the names of its path parameters."""
    for route in found:
        if isinstance(route, URLResolver):
            held = set(route.pattern.converters)
            yield from ((name, held | inner) for name, inner in routes(route.url_patterns))
        elif isinstance(route, URLPattern):
            yield route.name, {*route.pattern.converters, *route.pattern.regex.groupindex}


def arguments(name: str, held: set[str], tenant: Tenant) -> list[dict[str, Any]]:
    """Return a route's URL arguments for a tenant, as one dict per URL.

    If the tenant has no row of the route's model, any row of that model is used.
    Asserts that the route's parameters are known.
    """
    if not held:
        return [{}]
    if held == {"chatbot_id"}:
        return [{"chatbot_id": tenant.chatbot.pk}]
    if held == {"app_label"}:
        return [{"app_label": label} for label in ("accounts", "chatbots")]
    if held == {"kind"}:
        return [{"kind": kind} for kind in FORMATS]
    assert held in ({"object_id"}, {"id"}), f"no arguments are known for {name}: {held}"
    if name == "auth_user_password_change":
        keys = tenant.keys_of(User)
    else:
        [model] = [
            m
            for m in admin.site._registry
            if name.startswith(f"{m._meta.label_lower.replace('.', '_')}_")
        ]
        keys = tenant.keys_of(model) or [str(row.pk) for row in model._default_manager.all()[:1]]
    return [{next(iter(held)): key} for key in keys]


def addresses(tenant: Tenant) -> Iterator[str]:
    """Yield the addresses of all named admin routes except those in LEAVES, using a tenant's ids.

    Asserts that every route without a name is known.
    """
    for name, held in routes(admin.site.get_urls()):
        if name is None:  # Django's legacy change-page URLs and the catch-all route
            assert held in ({"object_id"}, {"url"}), f"unknown route: {held}"
            continue
        if name not in LEAVES:
            for names in arguments(name, held, tenant):
                yield reverse(f"admin:{name}", kwargs=names)


def opened(
    client: Client, tenant: Tenant, *, under: str = "/admin/", only: str = ""
) -> Iterator[tuple[str, Any]]:
    """Open admin pages. Yields the first HTML page of each route as (address, response).

    Only addresses that begin with `under` and match the regular expression `only` are opened.
    """
    found = set()
    for address in addresses(tenant):
        if not address.startswith(under) or not re.search(only, address):
            continue
        answer = client.get(address)
        html = answer.get("Content-Type", "").startswith("text/html")
        if html and answer.status_code == 200 and b"<html" in answer.content:
            if answer.resolver_match.view_name not in found:
                yield address, answer
            found.add(answer.resolver_match.view_name)


def pages(
    client: Client, tenant: Tenant, *, under: str = "/admin/", only: str = ""
) -> dict[str, str]:
    """Return the template of each page that `opened` yields, keyed by the page's address."""
    shown = opened(client, tenant, under=under, only=only)
    return {address: answer.templates[0].name for address, answer in shown}
