"""Saved views: an inbox tab with filters and a search, under a name."""

from django.conf import settings
from django.db import models

from accounts.models import Account
from config.database.row import Row


class SavedView(Row):
    """A view that a person saved, for themselves or for all members of an account."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    account = models.ForeignKey(
        Account, null=True, blank=True, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=50)
    query = models.TextField(max_length=2_000)  # the query string of the list

    class Meta:
        verbose_name = "saved view"
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_name")]

    def __str__(self) -> str:
        return self.name
