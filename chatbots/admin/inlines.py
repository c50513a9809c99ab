"""The tabs of a chatbot's page, one for each kind of setting."""

import re
from typing import Any

from django.http import HttpRequest
from unfold.admin import StackedInline, TabularInline
from unfold.forms import PaginationInlineFormSet

from accounts.admin.scope import ReadOnly, ScopedChoices
from chatbots.admin.bounds import BoundedFormSet
from chatbots.admin.conversation_starter import Beginning
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
from config.admin.dates import at

CHANGED = at("updated_at", "changed")
PAGE_NUMBER = re.compile("[1-9][0-9]{0,5}")


class SettingsInline(ScopedChoices, StackedInline):
    """A chatbot's single row of one kind of settings."""

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
    """Which contact details the bot asks for."""

    model = LeadSettings
    form = LeadSettingsForm
    fields = tuple(LeadSettings.own_fields())


class PagedFormSet(PaginationInlineFormSet):
    """One page of rows at a time: a form with all rows would have no limit."""

    def get_page_num(self) -> int:
        """Return the requested page number, or 1 if it is not a number."""
        key = self.get_pagination_key()
        given = self.request.GET.get(key) or self.request.POST.get(key) or ""
        return int(given) if PAGE_NUMBER.fullmatch(given) else 1


class BoundedPages(BoundedFormSet, PagedFormSet):
    """Pages of a list with a limited number of rows."""


class PagedInline(TabularInline):
    """Rows that a chatbot may have many of."""

    formset = PagedFormSet
    per_page = 10
    extra = 0
    tab = True


class FollowUpInline(PagedInline):
    """Buttons and links that visitors are offered."""

    model = FollowUpPrompt
    form = FollowUpForm
    formset = BoundedPages
    fields = ("rank", "button_title", "button_message", "link_text", "link_src", "esclate")


class MemberInline(ScopedChoices, PagedInline):
    """The people who were added to the bot."""

    model = ChatbotMember
    fields = ("user", "role")
    autocomplete_fields = ("user",)
    verbose_name_plural = "members"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Fetch the people along with their memberships."""
        return super().get_queryset(request).select_related("user", "chatbot")


class LinkedInline(ReadOnly, PagedInline):
    """A list of rows that links to their own pages."""

    show_change_link = True
    large: tuple[str, ...] = ()  # columns loaded only on the row's own page

    def get_queryset(self, request: HttpRequest) -> Any:
        """Leave out the large columns."""
        return super().get_queryset(request).defer(*self.large)


class InstructionInline(LinkedInline):
    """The bot's instructions, the active one first."""

    model = Instruction
    ordering = ("-is_active", "-created_at", "-id")
    large = ("instruction",)
    fields = readonly_fields = ("title", "is_active", "creativity_level", CHANGED)


class PersonaInline(LinkedInline):
    """The bot's personas, active ones first."""

    model = Persona
    ordering = ("-is_active", "-created_at", "-id")
    large = ("description", "instructions")
    fields = readonly_fields = ("title", "is_active", "creativity_level", CHANGED)


class LocalizationInline(LinkedInline):
    """The texts of the bot's interface."""

    model = Localization
    verbose_name_plural = "texts"
    large = ("texts",)
    fields = readonly_fields = ("locale_code", CHANGED)


class StarterInline(Beginning, LinkedInline):
    """The bot's conversation starters, newest first."""

    model = ConversationStarter
    ordering = ("-created_at", "-id")
    large = ("content",)
    fields = readonly_fields = ("beginning", CHANGED)
