"""The tabs on a chatbot's page, one for each kind of setting."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import F, ForeignKey
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import StackedInline
from unfold.widgets import UnfoldAdminSelectWidget

from accounts.admin.scope import ReadOnly, ScopedChoices, manages, person
from accounts.models import Account
from accounts.models.account import by_role, union
from accounts.permissions import Action
from chatbots.admin.appearance import FIELDSETS, AppearanceForm
from chatbots.admin.bounds import BoundedFormSet
from chatbots.admin.conversation_starter import Beginning
from chatbots.admin.follow_up_prompt import FollowUpForm
from chatbots.admin.lead_settings import LeadSettingsForm
from chatbots.admin.localization import completeness
from chatbots.models import (
    Appearance,
    ChatbotMember,
    ConversationStarter,
    FollowUpPrompt,
    GeneralSettings,
    Instruction,
    LeadSettings,
    Localization,
    Persona,
)
from chatbots.models.follow_up_prompt import BUTTON, LINK
from config.admin.choices import RowSelect
from config.admin.conflict import SEEN, ConflictForm
from config.admin.dates import at
from config.admin.inline_pages import PagedInline

ROLE_WIDE = "their role gives them access to every chatbot in the account"
CHANGED = at("updated_at", "changed")


class SettingsInline(ScopedChoices, StackedInline):
    """A tab for one group of settings, which each chatbot stores in a single row."""

    form = ConflictForm
    hide_title = True  # showing the title would take another query for the chatbot
    can_delete = False
    max_num = 1
    extra = 0
    tab = True


class GeneralInline(SettingsInline):
    """How the bot behaves."""

    model = GeneralSettings
    verbose_name = "behavior"
    fields = (*(n for n in GeneralSettings.own_fields() if n != "chat_start"), SEEN)


class AppearanceInline(SettingsInline):
    """How the bot looks."""

    model = Appearance
    form = AppearanceForm
    fieldsets = FIELDSETS
    template_before = "admin/chatbots/preview.html"


class LeadSettingsInline(SettingsInline):
    """The contact details that the bot asks for."""

    model = LeadSettings
    form = LeadSettingsForm
    template_after = "admin/chatbots/lead_form.html"
    fields = (*LeadSettings.own_fields(), SEEN)


class FollowUpInline(PagedInline):
    """Buttons and links offered to visitors."""

    model = FollowUpPrompt
    form = FollowUpForm
    formset = BoundedFormSet
    hide_title = True
    fields = ("rank", "kind", *BUTTON, *LINK, "esclate", SEEN)


MEMBER_ROLES = [(role, role) for role in ("MEMBER", "AGENT", "EDITOR", "VIEWER")]


class MemberForm(ConflictForm):
    """The form for a chatbot member. Once the row is saved, only the role can be changed."""

    role = forms.ChoiceField(
        choices=MEMBER_ROLES,
        initial=MEMBER_ROLES[0][0],
        widget=UnfoldAdminSelectWidget,
        help_text="The API returns it as userChatbotRole. It grants no access.",
    )

    class Meta:
        model = ChatbotMember
        fields = ("user", "role")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        kept = self.instance.role
        if (kept, kept) not in MEMBER_ROLES:  # stored by an earlier version or a script
            self.fields["role"].choices = [*MEMBER_ROLES, (kept, kept)]  # type: ignore[attr-defined]
        if not self.instance._state.adding:
            self.fields["user"].disabled = True
            self.fields["user"].widget = PersonShown(self.instance.user)

    def clean_user(self) -> Any:
        """Reject a person whose role gives access to every chatbot in the account."""
        user, row = self.cleaned_data["user"], self.instance
        if row._state.adding:
            wide = Account.objects.open_to(user.pk, Action.USE_CHATBOT)
            if wide.filter(pk=row.chatbot.account_id).exists():
                raise forms.ValidationError(ROLE_WIDE)
        return user


class PersonShown(forms.Widget):
    """Shows a saved member as plain text. A select would run another query for each row."""

    def __init__(self, user: Any) -> None:
        super().__init__()
        self.user = user

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Render the person's email address."""
        return format_html("<span>{}</span>", self.user)


class MemberInline(ScopedChoices, PagedInline):
    """The people who were added to the bot."""

    model = ChatbotMember
    form = MemberForm
    template_before = "admin/chatbots/members_head.html"
    hide_title = True
    fields = ("user", "role", SEEN)
    verbose_name_plural = "members"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Fetch the person and the chatbot along with each membership."""
        return super().get_queryset(request).select_related("user", "chatbot")

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **options: Any
    ) -> "forms.ModelChoiceField[Any] | None":
        """Leave out people who are already members or whose role already gives them access."""
        field = super().formfield_for_foreignkey(db_field, request, **options)
        if field and isinstance(field.widget, RowSelect) and request.resolver_match:
            chatbot = request.resolver_match.kwargs["object_id"]
            with_access = by_role(Account.objects.filter(chatbots=chatbot), Action.USE_CHATBOT)
            members = ChatbotMember.objects.filter(chatbot=chatbot).annotate(person=F("user"))
            field.widget.refused = union((*with_access, members), "person")
        return field

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Show the members only to people who manage the account, as on the account's page."""
        permitted = person(request).has_perm("chatbots.change_chatbotmember")
        return permitted and (obj is None or manages(request, obj.account_id))

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


class LinkedInline(ReadOnly, PagedInline):
    """A list of rows, each linked to its own page."""

    hide_title = True  # the first column already identifies the row
    large: tuple[str, ...] = ()  # columns loaded only on the row's own page

    def get_queryset(self, request: HttpRequest) -> Any:
        """Defer the large columns."""
        return super().get_queryset(request).defer(*self.large)

    def page_of(self, row: Any, text: str) -> SafeString:
        """Return the text as a link to the row's own page."""
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
        return format_html('<a class="link" href="{}">{}</a>', reverse(name, args=[row.pk]), text)

    @admin.display(description="title")
    def linked_title(self, row: Any) -> SafeString:
        """Show the title, linked to the row's own page."""
        return self.page_of(row, row.title)


class InstructionInline(LinkedInline):
    """The bot's instructions, the active one first."""

    model = Instruction
    ordering = ("-is_active", "-created_at", "-id")
    large = ("instruction",)
    empty_text = "There are no instructions yet."
    fields = readonly_fields = ("linked_title", "is_active", "creativity_level", CHANGED)


class PersonaInline(LinkedInline):
    """The bot's personas, active ones first."""

    model = Persona
    ordering = ("-is_active", "-created_at", "-id")
    large = ("description", "instructions")
    empty_text = "There are no personas yet."
    fields = readonly_fields = ("linked_title", "is_active", "creativity_level", CHANGED)


class LocalizationInline(LinkedInline):
    """The texts of the bot's interface."""

    model = Localization
    verbose_name_plural = "texts"
    empty_text = "There are no text sets yet."
    fields = readonly_fields = ("linked_locale", "complete", CHANGED)

    @admin.display(description="texts in this language")
    def complete(self, row: Localization) -> str:
        """Show how many of the texts exist in the set's language."""
        return completeness(row)

    @admin.display(description="locale")
    def linked_locale(self, row: Localization) -> SafeString:
        """Show the locale, linked to the page of its texts."""
        return self.page_of(row, row.locale_code)


class StarterInline(Beginning, LinkedInline):
    """The bot's conversation starters, newest first."""

    model = ConversationStarter
    ordering = ("-created_at", "-id")
    large = ("content",)
    empty_text = "There are no conversation starters yet."
    fields = readonly_fields = ("linked_beginning", CHANGED)

    @admin.display(description="content")
    def linked_beginning(self, row: Any) -> SafeString:
        """Show the beginning of the content, linked to the starter's page."""
        return self.page_of(row, self.beginning(row))
