"""Configure Django's admin to use our site."""

from django.contrib.admin import apps


class AdminConfig(apps.AdminConfig):
    """Django's admin with our site, which uses the theme."""

    default_site = "config.admin.site.Site"
