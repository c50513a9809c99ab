"""Chatbots, and the people who were added to them."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import BooleanField, Case, Exists, OuterRef, Subquery, Value, When

from accounts.models import Account, Membership, User
from config.db import SHORT, Row


class ChatbotQuerySet(models.QuerySet["Chatbot"]):
    """Chatbots as a caller sees them."""

    def as_seen_by(self, caller: User) -> "ChatbotQuerySet":
        """Add what the caller holds: `is_owner`, `account_role`, `permissions`, `is_added`."""
        membership = Membership.objects.filter(account=OuterRef("account"), user=caller)
        return self.annotate(
            is_owner=Case(
                When(account__owner=caller, then=Value(True)),
                default=Value(False),
                output_field=BooleanField(),
            ),
            account_role=Subquery(membership.values("role")[:1]),
            permissions=Subquery(membership.values("permissions")[:1]),
            is_added=Exists(ChatbotMember.objects.filter(chatbot=OuterRef("pk"), user=caller)),
        )

    def with_caller_role(self, caller: User) -> "ChatbotQuerySet":
        """Add `caller_role`: the role of the caller on each chatbot, or null."""
        added = ChatbotMember.objects.filter(chatbot=OuterRef("pk"), user=caller)
        return self.annotate(caller_role=Subquery(added.values("role")[:1]))


class Chatbot(Row):
    """A bot. Specification: Resources, Chatbot."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="chatbots")
    name = models.CharField(max_length=SHORT)
    description = models.CharField(max_length=100, blank=True)
    is_active = models.BooleanField(default=True)
    created_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    members: Any = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="ChatbotMember", related_name="chatbots"
    )

    objects = ChatbotQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "name"],
                name="chatbot_name_unique",
                violation_error_message="a chatbot with this name exists in the account",
            )
        ]
        indexes = [models.Index(fields=["account", "-created_at", "-id"], name="chatbot_newest")]

    def __str__(self) -> str:
        return self.name


class ChatbotMember(Row):
    """A person added to a chatbot. Open point: roles (the role is a free string)."""

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
