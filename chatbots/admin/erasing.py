"""Delete rows that many other rows depend on, after showing what will be deleted with them."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from accounts.admin.scope import ScopedAdmin, accounts_for, person, with_row
from accounts.permissions import Action
from config.admin.page import bounded, page

KEPT_IN_THE_LOG = (
    "Webhook deliveries stay in the log, without their content. "
    "Deliveries that are still waiting are not sent."
)


@dataclass(frozen=True)
class Below:
    """The number of dependent rows of one kind."""

    count: str
    kind: str


def below(row: Model, *, uncounted: tuple[str, ...]) -> list[Below]:
    """Count the rows of each kind that would be deleted along with a row. Each count is capped.

    `uncounted` names the reverse relations to leave out.
    """
    found = []
    for relation in row._meta.related_objects:
        if relation.get_accessor_name() in uncounted:
            continue
        model: Any = relation.related_model
        rows = model._base_manager.filter(**{relation.field.name: row.pk})
        if count := bounded(rows):
            one = count == "1"
            name = model._meta.verbose_name if one else model._meta.verbose_name_plural
            found.append(Below(count, str(name)))
    return found


def erasing_accounts(request: HttpRequest) -> list[UUID]:
    """Return the ids of the accounts in which the signed-in person may perform `Action.ERASE`."""
    return accounts_for(request, Action.ERASE)


class Erasing(ScopedAdmin):
    """Base for admin pages that ask for confirmation and then delete rows through a service."""

    consequences: tuple[str, ...] = ()
    # Reverse relations that the page does not count: their rows are kept, are settings of the
    # deleted row, or contain only statistics.
    uncounted: tuple[str, ...] = ()
    asks_for_name = False

    def erase(self, row: Any, entry: LogEntry) -> None:
        """Delete a row through its service, which stores the log entry in the same transaction.

        Does nothing if the row is already deleted.
        """
        raise NotImplementedError

    def account_of(self, row: Any) -> UUID:
        """Return the id of the account that a row belongs to."""
        account: UUID = row.chatbot.account_id
        return account

    def name_in_trail(self, row: Any) -> str:
        """Return a deleted row's name for the admin's log, without any text from a visitor."""
        return f"{self.opts.verbose_name} {row.pk}"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Require the model's delete permission and the right to erase in the row's account."""
        user = person(request)
        if not user.has_perm(f"{self.opts.app_label}.delete_{self.opts.model_name}"):
            return False
        if user.is_superuser or obj is None:
            return True
        return self.account_of(obj) in erasing_accounts(request)

    @with_row("delete")
    def delete_view(
        self, request: HttpRequest, row: Any, extra_context: Any = None
    ) -> HttpResponse:
        """Show what will be deleted, and delete it when the form is submitted."""
        name = str(row)
        wrong = ""
        if request.method == "POST":
            if not self.asks_for_name or request.POST.get("name", "").strip() == name.strip():
                return self.delete_now(request, row)
            wrong = "The name does not match."
        return page(
            self,
            request,
            "admin/erase.html",
            title=f"Delete {self.opts.verbose_name} {name}",
            kind=self.opts.verbose_name,
            name=name,
            below=below(row, uncounted=self.uncounted),
            consequences=self.consequences,
            asks_for_name=self.asks_for_name,
            wrong=wrong,
            back=self.url_of("change", row),
        )

    def delete_now(self, request: HttpRequest, row: Any) -> HttpResponse:
        """Delete a row, log who did it, and redirect to the list.

        If two people delete the row at the same time, only the first deletion is logged.
        """
        entry = LogEntry(
            user=person(request),
            content_type=ContentType.objects.get_for_model(row),
            object_id=str(row.pk),
            object_repr=self.name_in_trail(row)[:200],
            action_flag=DELETION,
        )
        self.erase(row, entry)
        messages.success(request, f"The {self.opts.verbose_name} was deleted")
        return HttpResponseRedirect(self.url_of("changelist"))
