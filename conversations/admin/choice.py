"""The time span, account and chatbot that the user chose on the home page.

Users type the names of the account and the chatbot, so the page works without scripts and with any
number of accounts and chatbots.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.http import urlencode

from accounts.admin.scope import person
from chatbots.admin.scope import open_chatbots
from chatbots.models import Chatbot
from config.admin.choices import OFFERED
from config.admin.keyset import whole_id
from config.database.lengths import SHORT
from conversations.admin.figures import DEFAULT_SPAN, SPANS, Span
from conversations.admin.menu import rows


@dataclass(frozen=True)
class Picked:
    """The account or chatbot that the user's text identifies, or an error message."""

    text: str = ""
    id: UUID | None = None
    fault: str = ""


@dataclass(frozen=True)
class Choice:
    """The chosen time span, account and chatbot, and the names that the page suggests.

    `chatbots` contains the ids of the chatbots that the figures cover. None means all chatbots.
    """

    span: Span
    chatbot: Picked
    account: Picked
    suggested: list[dict[str, Any]]
    chatbots: list[UUID] | None

    @property
    def parameters(self) -> dict[str, str]:
        """Return the chosen account and chatbot as parameters for a link."""
        parts = {"account": self.account, "chatbot": self.chatbot}
        return {name: str(part.id or part.text) for name, part in parts.items() if part.text}

    @property
    def query(self) -> str:
        """Return `parameters` ready to append to a query string, or "" if nothing was chosen."""
        return f"&{urlencode(self.parameters)}" if self.narrowed else ""

    @property
    def narrowed(self) -> bool:
        """Return whether the user chose an account or a chatbot, even one that does not exist."""
        return bool(self.account.text or self.chatbot.text)

    @property
    def accounts(self) -> list[str]:
        """Return the suggested account names."""
        return list(dict.fromkeys(one["account__name"] for one in self.suggested))

    def spans(self) -> list[tuple[str, str, bool]]:
        """Return a link for each span: its label, its query string, and whether it is selected."""
        return [
            (span.label, f"?{urlencode({'span': span.name} | self.parameters)}", span is self.span)
            for span in SPANS.values()
        ]


def picked(found: "QuerySet[Any]", text: str, *, key: str, name: str, kind: str) -> Picked:
    """Find the account or chatbot whose id is `text`, or whose name equals or begins with `text`.

    Tries exact names first, then names that differ only in case, then names that begin with `text`.
    """
    if not text:
        return Picked()
    wanted = whole_id(text)
    named = [{f"{name}{lookup}": text} for lookup in ("", "__iexact", "__istartswith")]
    for condition in [{key: wanted}] if wanted else named:
        hits = list(found.filter(**condition).values_list(key, name).distinct()[:2])
        if len(hits) > 1:
            same = len({name for _, name in hits}) == 1
            more = f"enter the {kind}'s id" if same else "type more of the name"
            return Picked(text, fault=f"Several {kind}s match “{text}”: {more}.")
        if hits:
            return Picked(hits[0][1], hits[0][0])
    return Picked(text, fault=f"No {kind} matches “{text}”.")


def chosen(request: HttpRequest) -> Choice:
    """Read the time span, account and chatbot that the user chose."""
    mine = rows(request, Chatbot)
    by_name = mine.order_by("account__name", "name", "id")
    suggested: list[Any] = list(by_name.values("name", "account__name")[:OFFERED])
    span = SPANS.get(request.GET.get("span", ""), SPANS[DEFAULT_SPAN])
    typed = {name: request.GET.get(name, "").strip()[:SHORT] for name in ("account", "chatbot")}
    account = picked(mine, typed["account"], key="account_id", name="account__name", kind="account")
    if account.text:
        mine = mine.filter(account=account.id) if account.id else mine.none()
    chatbot = picked(mine, typed["chatbot"], key="pk", name="name", kind="chatbot")
    kept: list[UUID] | None = None if person(request).is_superuser else open_chatbots(request)
    if chatbot.text:
        kept = [chatbot.id] if chatbot.id else []
    elif account.text:
        kept = list(mine.values_list("pk", flat=True))
    return Choice(span, chatbot, account, suggested, kept)
