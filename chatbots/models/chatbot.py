"""Chatbots, and the people added to them."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models
from django.db.models import F, OuterRef, Subquery

from accounts.models import Account, User
from accounts.models.account import Rows, by_role, union
from accounts.permissions import ADDED, Action, may
from config.database.collected import Collected, Unnested
from config.database.erasable import ErasableRow, PresentRows, purge_index
from config.database.lengths import SHORT
from config.database.row import Row


class ChatbotQuerySet(models.QuerySet["Chatbot"]):
    """Selects chatbots by the people who may use them. Open points: roles, permissions."""

    def with_users(self) -> list[Rows]:
        """Pair chatbots with the people who may use them: one queryset for each kind of access.

        Each queryset is annotated with `person`, a user's id. A person added to a chatbot counts
        only while they are a member of its account.
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

        On PostgreSQL, `ids_sought` finds their ids without reading the chatbots of other accounts.
        """
        if connection.vendor == "postgresql":
            return self.filter(pk__in=Collected(ids_sought(person)))
        return self.filter(pk__in=Chatbot.objects.ids_open_to(person))

    def users(self) -> "models.QuerySet[User]":
        """Return the people who may use at least one of the chatbots."""
        return User.objects.filter(pk__in=union(self.with_users(), "person"))

    def lock(self, chatbot_id: UUID) -> None:
        """Lock a chatbot until the caller's transaction ends."""
        # no_key: transactions that insert rows referring to the chatbot, such as threads, do not
        # wait for this lock.
        self.select_for_update(no_key=True).filter(pk=chatbot_id).first()

    def with_caller_role(self, person: Any) -> "ChatbotQuerySet":
        """Annotate each chatbot with `caller_role`: a person's role in it, or null."""
        added = ChatbotMember.objects.filter(chatbot=OuterRef("pk"), user=person)
        return self.annotate(caller_role=Subquery(added.order_by().values("role")))


def ids_sought(person: Any) -> Rows:
    """Return the ids of the chatbots that a person may use. PostgreSQL only.

    The rule is the same as in `with_users`, but a join is avoided: for a join, PostgreSQL reads the
    chatbots of all accounts if it expects many in each. Instead, a subquery selects the chatbots
    whose account is in a range, and both bounds of the range are the same id. PostgreSQL cannot
    know the bounds in advance, and in that case it always expects few rows. So it runs the subquery
    once for each of the person's accounts, and finds the chatbots by index.
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
