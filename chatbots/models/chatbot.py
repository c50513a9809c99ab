"""Chatbots, and the people added to them."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models
from django.db.models import F, OuterRef, QuerySet, Subquery

from accounts.models import Account, User
from accounts.models.account import Rows, by_role, union
from accounts.permissions import ADDED, Action, may
from chatbots.models.erasable import ErasableRow, PresentRows, purge_index
from config.database.collected import Collected
from config.database.lengths import SHORT
from config.database.row import Row


class Unnested(Subquery):
    """A subquery of ids. It runs once for each outer row, and repeats that row for each id."""

    template = "unnest(ARRAY(%(subquery)s))"
    set_returning = True

    def __init__(self, rows: "QuerySet[Any]") -> None:
        super().__init__(rows.values("pk"))


class ChatbotQuerySet(models.QuerySet["Chatbot"]):
    """Selects chatbots according to who may use them. Open points: roles, permissions."""

    def with_users(self) -> list[Rows]:
        """Pair chatbots with the people who may use them.

        Returns one queryset for each kind of access. Each row is a chatbot, annotated with
        `person`, the id of a user who may use it. A person added to a chatbot may use it only while
        they are a member of its account.
        """
        pairs = by_role(self, Action.USE_CHATBOT, account="account__")
        if may(Action.USE_CHATBOT, {ADDED}):
            added = self.filter(account__memberships__user=F("memberships__user"))
            pairs.append(added.annotate(person=F("memberships__user")))
        return pairs

    def ids_open_to(self, person: Any) -> Rows:
        """Return the ids of the chatbots that a person may use."""
        return union((rows.filter(person=person) for rows in self.with_users()), "pk")

    def open_to(self, person: Any) -> "ChatbotQuerySet":
        """Select the chatbots that a person may use.

        On PostgreSQL, uses `ids_sought`, which does not read the chatbots of other accounts.
        """
        if connection.vendor == "postgresql":
            return self.filter(pk__in=Collected(ids_sought(person)))
        return self.filter(pk__in=Chatbot.objects.ids_open_to(person))

    def users(self) -> "models.QuerySet[User]":
        """Return the people who may use at least one of the chatbots."""
        return User.objects.filter(pk__in=union(self.with_users(), "person"))

    def agents(self) -> "models.QuerySet[User]":
        """Return the people who may answer in the conversations of one of the chatbots."""
        return self.users().filter(is_active=True)

    def lock(self, chatbot_id: UUID) -> None:
        """Lock a chatbot until the caller's transaction ends."""
        # With no_key, other transactions do not wait for this lock when they insert rows that refer
        # to the chatbot, such as threads.
        self.select_for_update(no_key=True).filter(pk=chatbot_id).first()

    def with_caller_role(self, person: Any) -> "ChatbotQuerySet":
        """Annotate each chatbot with `caller_role`, the person's role in it, or null."""
        added = ChatbotMember.objects.filter(chatbot=OuterRef("pk"), user=person)
        return self.annotate(caller_role=Subquery(added.order_by().values("role")))


def ids_sought(person: Any) -> Rows:
    """Return the ids of the chatbots that a person may use. PostgreSQL only.

    Applies the same rule as `with_users`, but without its join. If PostgreSQL expects many chatbots
    in each account, it executes that join by reading the chatbots of all accounts. Here, a subquery
    selects the chatbots whose account id lies in a range, and both bounds of the range are the same
    account id. PostgreSQL does not know the bounds when it plans the query, so it expects few rows.
    It therefore runs the subquery once for each of the person's accounts and uses an index.
    """
    chatbots = Chatbot.objects.order_by()
    within = chatbots.filter(account__gte=OuterRef("pk"), account__lte=OuterRef("pk"))
    accounts = by_role(Account.objects.all(), Action.USE_CHATBOT)
    parts = [rows.filter(person=person).annotate(found=Unnested(within)) for rows in accounts]
    if may(Action.USE_CHATBOT, {ADDED}):
        joined = chatbots.filter(pk=OuterRef("chatbot"), account__memberships__user=person)
        added = ChatbotMember.objects.filter(user=person)
        parts.append(added.annotate(found=Unnested(joined)))
    return union(parts, "found")


class Chatbot(ErasableRow):
    """A bot. Specification: Resources, Chatbot."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="chatbots")
    name = models.CharField(max_length=SHORT)
    description = models.CharField(max_length=100, blank=True)
    is_active = models.BooleanField("active", default=True)
    created_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    members: Any = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="ChatbotMember", related_name="chatbots"
    )

    objects = PresentRows.from_queryset(ChatbotQuerySet)()

    class Meta:
        default_manager_name = "objects"
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "name"],
                name="chatbot_name_unique",
                violation_error_message="the account already has a chatbot with this name",
            )
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="chatbot_newest"),
            purge_index("chatbot_purge"),
        ]

    def __str__(self) -> str:
        return self.name


class ChatbotMember(Row):
    """A person added to a chatbot. The role is a free-form string. Open point: roles."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="chatbot_memberships"
    )
    role = models.CharField(max_length=SHORT, default="MEMBER")

    class Meta:
        ordering = ["chatbot", "user"]
        constraints = [
            models.UniqueConstraint(fields=["chatbot", "user"], name="added_to_chatbot_once")
        ]

    def __str__(self) -> str:
        return f"{self.user} on {self.chatbot}"
