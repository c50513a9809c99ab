"""All URLs of the admin, generated from its routes, with the ids of an account's rows."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from accounts.models import User
from config.admin.export import FORMATS
from tests.factories.tenant import Tenant

LEAVES = {"logout"}  # ends the session


def routes(found: list[Any]) -> Iterator[tuple[str | None, set[str]]]:
    """List the admin's routes: the name, and the names of the path's parameters."""
    for route in found:
        if isinstance(route, URLResolver):
            held = set(route.pattern.converters)
            yield from ((name, held | inner) for name, inner in routes(route.url_patterns))
        elif isinstance(route, URLPattern):
            yield route.name, {*route.pattern.converters, *route.pattern.regex.groupindex}


def arguments(name: str, held: set[str], tenant: Tenant) -> list[dict[str, Any]]:
    """Build arguments that aim a route at another account's rows.

    An unknown route fails the test.
    """
    if not held:
        return [{}]
    if held == {"chatbot_id"}:
        return [{"chatbot_id": tenant.chatbot.pk}]
    if held == {"app_label"}:
        return [{"app_label": label} for label in ("accounts", "chatbots")]
    if held == {"kind"}:
        return [{"kind": kind} for kind in FORMATS]
    if held == {"content_type_id", "object_id"}:
        return [{"content_type_id": 1, "object_id": tenant.account.pk}]
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
    """Generate every admin address that can point at a tenant's rows."""
    for name, held in routes(admin.site.get_urls()):
        if name is None:  # Django's legacy page addresses and the catch-all route
            assert held in ({"object_id"}, {"url"}), f"a route that is not known: {held}"
            continue
        if name not in LEAVES:
            for names in arguments(name, held, tenant):
                yield reverse(f"admin:{name}", kwargs=names)


def opened(
    client: Client, tenant: Tenant, *, under: str = "/admin/"
) -> Iterator[tuple[str, HttpResponse]]:
    """Open a page of each route, most with an id; yields its address and the response."""
    found = set()
    for address in addresses(tenant):
        if not address.startswith(under):
            continue
        answer = client.get(address)
        html = answer.get("Content-Type", "").startswith("text/html")
        if html and answer.status_code == 200 and b"<html" in answer.content:
            if answer.resolver_match.view_name not in found:
                yield address, answer
            found.add(answer.resolver_match.view_name)


def pages(client: Client, tenant: Tenant, *, under: str = "/admin/") -> dict[str, str]:
    """Return an address of each page that a client can open, and its template."""
    return {
        address: answer.templates[0].name for address, answer in opened(client, tenant, under=under)
    }
