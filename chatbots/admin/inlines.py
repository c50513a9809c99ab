"""What stands on a chatbot's page below the chatbot itself: a tab for each kind of setting."""

from typing import Any

from django.http import HttpRequest
from unfold.admin import StackedInline, TabularInline

from accounts.admin.moments import at
from accounts.admin.scope import ReadOnly, ScopedChoices
from chatbots.admin.bounds import BoundedFormSet
from chatbots.admin.follow_up_prompt import FollowUpForm
from chatbots.admin.lead_settings import LeadSettingsForm
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

CHANGED = at("updated_at", "changed")


class SettingsInline(ScopedChoices, StackedInline):
    """A chatbot's one row of settings of some kind."""

    can_delete = False
    max_num = 1
    extra = 0
    tab = True


class GeneralInline(SettingsInline):
    """How the bot behaves."""

    model = GeneralSettings
    verbose_name = "behaviour"
    fields = tuple(name for name in GeneralSettings.own_fields() if name != "chat_start")


class AppearanceInline(SettingsInline):
    """How the bot looks."""

    model = Appearance
    fields = tuple(Appearance.own_fields())


class LeadSettingsInline(SettingsInline):
    """Whose contact the bot asks for."""

    model = LeadSettings
    form = LeadSettingsForm
    fields = tuple(LeadSettings.own_fields())


class FollowUpInline(TabularInline):
    """What visitors are offered to press next."""

    model = FollowUpPrompt
    form = FollowUpForm
    formset = BoundedFormSet
    fields = ("rank", "button_title", "button_message", "link_text", "link_src", "esclate")
    extra = 0
    tab = True


class StarterInline(TabularInline):
    """What a conversation can begin with."""

    model = ConversationStarter
    formset = BoundedFormSet
    fields = ("content",)
    extra = 0
    tab = True


class MemberInline(ScopedChoices, TabularInline):
    """The people who were added to the bot."""

    model = ChatbotMember
    fields = ("user", "role")
    autocomplete_fields = ("user",)
    verbose_name_plural = "members"
    extra = 0
    tab = True

    def get_queryset(self, request: HttpRequest) -> Any:
        """Read the people with their memberships."""
        return super().get_queryset(request).select_related("user", "chatbot")


class LinkedInline(ReadOnly, TabularInline):
    """Rows with pages of their own: a list that leads to them."""

    show_change_link = True
    extra = 0
    tab = True


class InstructionInline(LinkedInline):
    """What the bot is told to do."""

    model = Instruction
    fields = readonly_fields = ("title", "is_active", "creativity_level", CHANGED)


class PersonaInline(LinkedInline):
    """Who the bot is."""

    model = Persona
    fields = readonly_fields = ("title", "is_active", "creativity_level", CHANGED)


class LocalizationInline(LinkedInline):
    """What the bot's interface says."""

    model = Localization
    verbose_name_plural = "texts"
    fields = readonly_fields = ("locale_code", CHANGED)
