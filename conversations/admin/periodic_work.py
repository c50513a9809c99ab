"""The admin's list of periodic work, which shows what is due and what is running."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin.scope import ReadOnly, ScopedAdmin
from config.admin.dates import at
from config.models import PeriodicWork

DUE = at("due_at", "due")
CLAIMED = at("claimed_until", "running until (at the latest)", empty="not running")


@admin.register(PeriodicWork)
class PeriodicWorkAdmin(ReadOnly, ScopedAdmin):
    """The workers' periodic work. Only superusers see it, because it belongs to no account."""

    key = ("name",)
    list_display = ("name", DUE, CLAIMED)
    fields = readonly_fields = ("name", DUE, CLAIMED)
    empty_text = "No worker has started yet."

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select no rows, because no account owns any."""
        return rows.none()
