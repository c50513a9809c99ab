"""Render our own pages in the admin's layout, such as the page that shows a new secret."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.cache import cache
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import quote_etag
from unfold.admin import ModelAdmin

from config.api.cache_outage import outage
from config.database.ids import new_id

SANE_TOKEN = re.compile(r"[0-9a-f]{32}")
REMEMBERED = 24 * 60 * 60  # seconds; after that, a form that is submitted again counts as new


def row_routes(model_admin: ModelAdmin, **views: Callable[..., HttpResponse]) -> list[URLPattern]:
    """Build a route `<id>/<name>/`, open only to signed-in staff, for each view of a row."""
    opts = model_admin.opts
    return [
        path(
            f"<uuid:object_id>/{name.replace('_', '-')}/",
            model_admin.admin_site.admin_view(view),
            name=f"{opts.app_label}_{opts.model_name}_{name}",
        )
        for name, view in views.items()
    ]


def bounded(rows: "QuerySet[Any]", cap: int = 1_000) -> str:
    """Count rows up to a cap, and format the count. Returns an empty string for 0 rows."""
    return in_words(rows.order_by().values("pk")[: cap + 1].count(), cap=cap)


def in_words(count: int, cap: int) -> str:
    """Format a count for display: "more than <cap>" above the cap, and "" for 0."""
    return f"more than {cap:,}" if count > cap else f"{count:,}" if count else ""


def page(
    model_admin: ModelAdmin, request: HttpRequest, template: str, *, title: str, **context: Any
) -> TemplateResponse:
    """Render a template with the admin's menu and a new form token.

    The admin's views are never cached. So "admin/secret.html" shows a new secret only in the
    response to the request that created it. A reload resubmits the form, so the caller must make
    sure that only the first submission creates a secret (see `first_time`). "admin/confirm.html"
    asks for confirmation of a dangerous action, and posts to the same URL.
    """
    request.current_app = model_admin.admin_site.name
    return TemplateResponse(
        request,
        template,
        {
            **model_admin.admin_site.each_context(request),
            "title": title,
            "model_admin": model_admin,
            "form_token": new_id().hex,
            **context,
        },
    )


def missing_row(model_admin: ModelAdmin, request: HttpRequest, key: object) -> HttpResponse:
    """Lead to the home page, as Django does for the page of a row that does not exist."""
    name = model_admin.opts.verbose_name
    messages.warning(request, f"{name} {unquote(str(key))} does not exist. Was it deleted?")
    return HttpResponseRedirect(reverse("admin:index"))


def unless_unchanged(
    request: HttpRequest, tag: str, render: Callable[[], HttpResponse]
) -> HttpResponse:
    """Respond to a polling script with 304 if it sent this tag, and otherwise with `render()`."""
    quoted = quote_etag(tag)
    unchanged = request.headers.get("If-None-Match") == quoted
    response = HttpResponse(status=304) if unchanged else render()
    response["ETag"] = quoted
    response["Cache-Control"] = "private, no-cache"
    return response


@contextmanager
def first_time(request: HttpRequest) -> Iterator[bool]:
    """Yield whether this is a form's first submission, rather than a double click or a reload.

    Each form has its own token. If the block fails, the token is released and the form can be
    submitted again. If the token is invalid or the cache is down, every submission counts as the
    first.
    """
    token = request.POST.get("form_token", "")
    name = f"form-{token}"
    first = not SANE_TOKEN.fullmatch(token) or (
        outage.attempt(lambda: cache.add(name, True, timeout=REMEMBERED)) is not False
    )
    try:
        yield first
    except BaseException:
        if first:
            outage.attempt(lambda: cache.delete(name))
        raise
