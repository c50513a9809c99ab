"""The page "Check someone's access", which explains the permission table in plain words."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminSelectWidget

from accounts.access import holdings
from accounts.admin.api_key import holders
from accounts.admin.scope import managed_accounts, person
from accounts.models import Membership, User
from accounts.permissions import ADDED, MAY, PERMISSIONS, Action, may
from chatbots.admin.scope import ChatbotRows
from chatbots.models import Chatbot, ChatbotMember
from config.admin.choices import RowSelect
from config.admin.page import page
from config.database.lengths import SHORT

ACTIONS = {
    Action.USE_CHATBOT: "use the chatbot, including its settings, conversations and deliveries",
    Action.CREATE_CHATBOT: "create chatbots in the account",
    Action.LIST_ACCOUNT_CHATBOTS: "list all chatbots in the account",
    Action.ERASE: "delete the chatbot or its conversations, visitors or leads",
    Action.MANAGE_ACCOUNT: "manage the account, including its people, keys and secrets",
    Action.ENTER_ACCOUNT: "enter the account",
}


class NamedChatbot(forms.ModelChoiceField[Chatbot]):
    """Offers chatbots, each labeled with its name and its account."""

    def label_from_instance(self, row: Chatbot) -> str:
        """Add the account, because chatbots of different accounts may have the same name."""
        return f"{row.name} ({row.account})"


class WhyForm(forms.Form):
    """The form that asks for a person, a chatbot and an action."""

    email = forms.EmailField(
        label="Person's email", max_length=SHORT, widget=UnfoldAdminEmailInputWidget
    )
    chatbot = NamedChatbot(
        Chatbot.objects.none(),
        empty_label="Select value",
        widget=RowSelect(ChatbotMember._meta.get_field("chatbot")),
        error_messages={
            "invalid_choice": "Select a valid choice: a chatbot of an account that you manage."
        },
    )
    action = forms.ChoiceField(
        choices=[(action.value, words) for action, words in ACTIONS.items()],
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, given: Any, chatbots: "QuerySet[Chatbot]") -> None:
        super().__init__(given if "email" in given else None, initial=given.dict())
        field: Any = self.fields["chatbot"]  # a ModelChoiceField
        field.queryset = chatbots.select_related("account").order_by("name", "id")

    def clean(self) -> dict[str, Any]:
        """Find the person in the chatbot's account, or among the people added to the chatbot."""
        given = self.cleaned_data
        if not self.errors:
            chatbot = given["chatbot"]
            found = User.objects.find(given["email"])
            known = User.objects.belonging_to([chatbot.account_id])
            if found is None or not (
                known.filter(pk=found.pk).exists()
                or ChatbotMember.objects.filter(chatbot=chatbot, user=found).exists()
            ):
                self.add_error(
                    "email",
                    f"no such person in {chatbot.account} or among the people added to {chatbot}",
                )
            given |= {"user": found}
        return given


@dataclass(frozen=True)
class Answer:
    """Whether a person may perform an action, and why."""

    allowed: bool
    verdict: str
    lines: list[str]


def explain(user: User, chatbot: Chatbot, action: Action) -> Answer:
    """Decide from the permission table whether a person may perform an action, and explain why.

    The explanation reveals nothing about other accounts.
    """
    account = chatbot.account
    member = Membership.objects.filter(account=account, user=user).first()
    owner = account.owner_id == user.pk
    added = ChatbotMember.objects.filter(chatbot=chatbot, user=user).exists()
    held = holdings(
        owner=owner,
        role=member.role if member and not owner else None,
        permissions=member.permissions if member and not owner else None,
    )
    # A person added to a chatbot may use it only while they belong to its account.
    belongs = owner or member is not None
    allowed = user.is_active and may(action, held | ({ADDED} if added and belongs else set()))
    name = user.email  # shown instead of the name, which some managers are not allowed to see
    roles = [*sorted(map(str, held))] or ["no role, because they do not belong to it"]
    lines = [
        f"In {account}, {name} holds {', '.join(roles)}.",
        f"{name} was {'' if added else 'not '}added to {chatbot}"
        + (
            "."
            if belongs or not added
            else ", which has no effect without membership in the account."
        ),
        f"The action requires {needs(action)}.",
    ]
    if not user.is_active:
        lines.insert(
            0, f"{name} is not active: they cannot sign in, and their API keys do not work."
        )
    verdict = f"{name} {'may' if allowed else 'may not'} {ACTIONS[action]}."
    return Answer(allowed, verdict, lines)


def in_the_admin(user: User) -> str:
    """Describe what a person can open in the admin. Not every manager is allowed to see this."""
    if user.is_superuser:
        return (
            "In the admin, superusers may do everything. "
            "In the API, they may do only what their roles and permissions allow."
        )
    if not user.is_staff:
        return "They cannot use the admin, because they do not belong to an account."
    if not user.has_usable_password():
        return (
            "They have no password for the admin yet. "
            "“Forgot password?” on the login page sends them a link that sets one."
        )
    return "They can sign in to the admin."


def needs(action: Action) -> str:
    """Describe which roles and permissions allow an action. Any one of them is enough."""
    words = []
    for one in sorted(map(str, MAY[action])):
        if one == ADDED:
            words.append("being added to the chatbot")
        else:
            words.append(f"the {'permission' if one in PERMISSIONS else 'role'} {one}")
    return " or ".join(words)


class WhyAdmin(ChatbotRows):
    """Adds the page that explains what a person may do, and why."""

    def get_urls(self) -> list[URLPattern]:
        """Add the page's route."""
        view = self.admin_site.admin_view(require_safe(self.why_view))
        return [path("why/", view, name="chatbots_chatbot_why"), *super().get_urls()]

    def why_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form and, if its values are valid, the answer.

        Raises PermissionDenied unless the signed-in person is a superuser or manages an account.
        """
        superuser = person(request).is_superuser
        if not superuser and not managed_accounts(request):
            raise PermissionDenied
        rows = self.get_queryset(request)
        mine = rows if superuser else rows.filter(account__in=managed_accounts(request))
        form = WhyForm(request.GET, mine)
        answer = None
        if form.is_valid():
            given = form.cleaned_data
            answer = explain(given["user"], given["chatbot"], Action(given["action"]))
            if holders(request).filter(pk=given["user"].pk).exists():
                answer.lines.append(in_the_admin(given["user"]))
        return page(
            self,
            request,
            "admin/chatbots/why.html",
            title="Check someone's access",
            form=form,
            answer=answer,
        )
