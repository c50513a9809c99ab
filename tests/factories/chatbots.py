"""Factories for valid chatbots and the rows that belong to them.

Only the factories for general settings, appearance and text sets require `chatbot`.
"""

from factory import RelatedFactory, Sequence, SubFactory

from chatbots.models import (
    Appearance,
    Chatbot,
    ChatbotMember,
    FollowUpPrompt,
    GeneralSettings,
    Instruction,
    LeadSettings,
    LlmModel,
    Localization,
    Persona,
)
from tests.factories.accounts import AccountFactory, UserFactory
from tests.factories.row import RowFactory


class LlmModelFactory(RowFactory):
    class Meta:
        model = LlmModel

    provider = LlmModel.OFFLINE
    title = Sequence("Model {}".format)


class GeneralSettingsFactory(RowFactory):
    class Meta:
        model = GeneralSettings


class AppearanceFactory(RowFactory):
    class Meta:
        model = Appearance


class LocalizationFactory(RowFactory):
    class Meta:
        model = Localization

    locale_code = "en"


class ChatbotFactory(RowFactory):
    """A chatbot with the rows that are created with it: settings, appearance and English texts."""

    class Meta:
        model = Chatbot
        skip_postgeneration_save = True

    account = SubFactory(AccountFactory)
    name = Sequence("Chatbot {}".format)
    description = "answers questions"
    general = RelatedFactory(GeneralSettingsFactory, "chatbot")
    appearance = RelatedFactory(AppearanceFactory, "chatbot")
    localization = RelatedFactory(LocalizationFactory, "chatbot")


class ChatbotMemberFactory(RowFactory):
    class Meta:
        model = ChatbotMember

    chatbot = SubFactory(ChatbotFactory)
    user = SubFactory(UserFactory)


class LeadSettingsFactory(RowFactory):
    class Meta:
        model = LeadSettings

    chatbot = SubFactory(ChatbotFactory)


class PersonaFactory(RowFactory):
    class Meta:
        model = Persona

    chatbot = SubFactory(ChatbotFactory)
    title = Sequence("Persona {}".format)


class InstructionFactory(RowFactory):
    class Meta:
        model = Instruction

    chatbot = SubFactory(ChatbotFactory)
    title = Sequence("Instruction {}".format)
    instruction = "Answer kindly."


class FollowUpPromptFactory(RowFactory):
    class Meta:
        model = FollowUpPrompt

    chatbot = SubFactory(ChatbotFactory)
    button_title, button_message = "Prices", "What does it cost?"
