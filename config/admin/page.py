"""Our own pages in the admin's layout, and the one page that shows a secret."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis
from django.core.cache import cache
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

from config.api.errors import ApiError, InvalidRequest
from config.database.ids import new_id

logger = logging.getLogger(__name__)

SANE_TOKEN = re.compile(r"[0-9a-f]{32}")
REMEMBERED = 24 * 60 * 60  # seconds; a form that was open for longer is sent on purpose


def bounded(rows: "QuerySet[Any]", cap: int = 1_000) -> str:
    """Count rows up to a cap, in words; empty if there are none."""
    count = rows.order_by().values("pk")[: cap + 1].count()
    return f"more than {cap:,}" if count > cap else f"{count:,}" if count else ""


def page(
    model_admin: ModelAdmin, request: HttpRequest, template: str, *, title: str, **context: Any
) -> TemplateResponse:
    """Render a template with the admin's menu and a new form token."""
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


@contextmanager
def first_time(request: HttpRequest) -> Iterator[bool]:
    """Yield whether a form is sent for the first time, not by a double click or a reload.

    Each form has its own token. If the block fails, the token is released and the form can be sent
    again. Without a cache every submission counts as the first.
    """
    token = request.POST.get("form_token", "")
    name = f"form-{token}"
    first = not SANE_TOKEN.fullmatch(token) or _with_cache(
        lambda: cache.add(name, True, timeout=REMEMBERED)
    )
    try:
        yield first
    except BaseException:
        if first:
            _with_cache(lambda: cache.delete(name))
        raise


def _with_cache(change: Callable[[], bool]) -> bool:
    try:
        return bool(change())
    except (redis.RedisError, OSError) as error:
        logger.error(
            "forms may be sent twice: the cache does not answer (%s)", type(error).__name__
        )
        return True


def secret_page(
    model_admin: ModelAdmin,
    request: HttpRequest,
    *,
    title: str,
    name: str,
    secret: str,
    warning: str,
    back: str,
) -> TemplateResponse:
    """Show a new secret in the response to the request that created it. It is stored nowhere.

    A reload sends the form again, so the caller checks `first_time` and otherwise redirects to
    `back`.
    """
    response = page(
        model_admin,
        request,
        "admin/secret.html",
        title=title,
        name=name,
        secret=secret,
        warning=warning,
        back=back,
    )
    response["Cache-Control"] = "no-store"
    return response


def show_faults(form: Form, error: ApiError) -> None:
    """Add a service's errors to the form's fields, or above them if no field fits."""
    faults = (error.errors or []) if isinstance(error, InvalidRequest) else []
    for fault in faults:
        name = fault["path"][0] if fault["path"] else None
        form.add_error(name if name in form.fields else None, fault["message"])
    if not faults:
        form.add_error(None, error.message)
