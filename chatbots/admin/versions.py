"""The versions of an instruction or persona: who saved them, when, and how any two differ."""

from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.views.decorators.http import require_safe

from accounts.admin.scope import with_row
from chatbots.admin.scope import ChatbotFilter, OwnedByChatbot
from chatbots.llm.prompt import LONG_SYSTEM, system_length
from chatbots.models import Version
from chatbots.models.version import NEWEST_KEPT
from chatbots.services.version import restore
from config.admin.dates import at
from config.admin.page import page, row_routes
from config.admin.post_only import post_only
from config.api.errors import NotFound

LISTED = 50  # versions on a page
TOO_LONG = (
    "The system message of this bot now has {:,} characters, more than many models accept. "
    "Shorten its texts, or deactivate a persona."
)
COMPARED = 2_000  # maximum number of lines per text; comparing more takes too long
AROUND = 3  # unchanged lines shown on either side of a change
KINDS = {" ": "same", "-": "removed", "+": "added"}
Line = tuple[str, str]  # the kind ("added", "removed", "same" or "gap") and the text


@dataclass(frozen=True)
class Difference:
    """A field in which two versions differ."""

    field: str
    lines: list[Line]


def compare(old: str, new: str) -> list[Line]:
    """Return the line diff of two texts, with a few unchanged lines around each change.

    Texts with more than COMPARED lines are not compared: all old lines are returned as removed and
    all new ones as added. If the new text has 200 lines or more, difflib never starts a match at a
    line that occurs often in it, such as an empty line. Without this heuristic (`autojunk`, on by
    default), comparing two texts full of such lines would take a minute.
    """
    before, after = old.split("\n"), new.split("\n")
    if max(len(before), len(after)) > COMPARED:
        return [*(("removed", line) for line in before), *(("added", line) for line in after)]
    diff = unified_diff(before, after, n=AROUND, lineterm="")
    lines = islice(diff, 3, None)  # skips the names of the files and the first position
    return [("gap", "…") if line[0] == "@" else (KINDS[line[0]], line[1:]) for line in lines]


def differences(row: Any, old: Version, new: Version) -> list[Difference]:
    """Compare two versions of a row field by field."""
    found = []
    for name in row.content_fields:
        before, after = (each.content.get(name) for each in (old, new))
        if before != after:
            texts = ("" if value is None else str(value) for value in (before, after))
            label = str(row._meta.get_field(name).verbose_name)
            found.append(Difference(label, compare(*texts)))
    return found


def number_in(text: str | None) -> int | None:
    """Parse a number of at most nine digits. Returns None for any other text."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else None


def before_it(known: "QuerySet[Version]", number: int) -> int:
    """Return the number of the previous version, or 0. Pruning leaves gaps between the numbers."""
    earlier = known.filter(number__lt=number).order_by("-number")
    return earlier.values_list("number", flat=True).first() or 0


class VersionedAdmin(OwnedByChatbot):
    """The pages of instructions and personas, whose versions staff can compare and restore."""

    list_display = (
        "title",
        "chatbot",
        "is_active",
        "creativity_level",
        at("updated_at", "changed"),
    )
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter, "is_active")

    class Media:
        """The script that notifies "Try it" of unsaved changes."""

        js = ("pages/unsaved.js",)

    def get_urls(self) -> list[URLPattern]:
        """Add the routes for the page and its button."""
        routes = row_routes(
            self,
            versions=require_safe(self.versions_view),
            restore=post_only(self.restore_view),
        )
        return [*routes, *super().get_urls()]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow a row to be deleted only if it is marked as deletable."""
        return bool(super().has_delete_permission(request, obj)) and (obj is None or obj.deletable)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the row, and warn if the bot's system message has become very long."""
        super().save_model(request, obj, form, change)
        if (length := system_length(obj.chatbot_id)) > LONG_SYSTEM:
            messages.warning(request, TOO_LONG.format(length))

    @with_row("view")
    def versions_view(self, request: HttpRequest, row: Any) -> HttpResponse:
        """List the versions, newest first, and compare two of them."""
        known = Version.objects.filter(row_id=row.pk).order_by("-number")
        before = number_in(request.GET.get("before"))
        shown = known.filter(number__lt=before) if before else known
        listed = list(shown.defer("content").select_related("saved_by")[: LISTED + 1])
        new = number_in(request.GET.get("new")) or row.version
        old = number_in(request.GET.get("old")) or before_it(known, new)
        pair = {each.number: each for each in known.filter(number__in=(old, new))}
        return page(
            self,
            request,
            "admin/chatbots/versions.html",
            title=f"Versions of {row}",
            row=row,
            versions=listed[:LISTED],
            newest_kept=NEWEST_KEPT,
            older=listed[LISTED - 1].number if len(listed) > LISTED else None,
            old=old,
            new=new,
            differences=differences(row, pair[old], pair[new]) if len(pair) == 2 else None,
            change_url=self.url_of("change", row),
            restore_url=self.url_of("restore", row),
            may_change=self.has_change_permission(request, row),
        )

    @with_row("change")
    def restore_view(self, request: HttpRequest, row: Any) -> HttpResponse:
        """Save an earlier version as the newest one, and return to the list of versions."""
        number = number_in(request.POST.get("number"))
        try:
            restored = restore(row, number or 0)
        except NotFound as error:
            messages.error(request, error.message)
        else:
            self.log_change(request, row, f"Restored version {number}.")
            messages.success(
                request, f"Version {number} was restored as version {restored.version}"
            )
        return HttpResponseRedirect(self.url_of("versions", row))
