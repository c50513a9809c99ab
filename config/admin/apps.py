"""Configure Django's admin: our site, whose pages are loaded with the routes, not at startup."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register


class AdminConfig(SimpleAdminConfig):
    """An admin that does not load pages at startup: workers and most commands never use them."""

    default_site = "config.admin.site.Site"

    def ready(self) -> None:
        """Register the admin's system checks."""
        register(check_dependencies, Tags.admin)
        register(check_pages, Tags.admin)


def check_pages(app_configs: Sequence[AppConfig] | None, **_: Any) -> Sequence[CheckMessage]:
    """Load all pages, and check them."""
    admin.autodiscover()
    return check_admin_app(app_configs)
