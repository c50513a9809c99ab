"""Valid chatbots and their settings, with defaults for everything."""

from factory import RelatedFactory, Sequence, SubFactory
from factory.django import DjangoModelFactory

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


class LlmModelFactory(DjangoModelFactory):
    class Meta:
        model = LlmModel

    provider = LlmModel.OFFLINE
    title = Sequence("Model {}".format)


class GeneralSettingsFactory(DjangoModelFactory):
    class Meta:
        model = GeneralSettings


class AppearanceFactory(DjangoModelFactory):
    class Meta:
        model = Appearance


class LocalizationFactory(DjangoModelFactory):
    class Meta:
        model = Localization

    locale_code = "en"


class ChatbotFactory(DjangoModelFactory):
    """A chatbot as it is created: general settings, appearance, English texts."""

    class Meta:
        model = Chatbot
        skip_postgeneration_save = True

    account = SubFactory(AccountFactory)
    name = Sequence("Chatbot {}".format)
    description = "answers questions"
    general = RelatedFactory(GeneralSettingsFactory, "chatbot")
    appearance = RelatedFactory(AppearanceFactory, "chatbot")
    localization = RelatedFactory(LocalizationFactory, "chatbot")


class ChatbotMemberFactory(DjangoModelFactory):
    class Meta:
        model = ChatbotMember

    chatbot = SubFactory(ChatbotFactory)
    user = SubFactory(UserFactory)


class LeadSettingsFactory(DjangoModelFactory):
    class Meta:
        model = LeadSettings

    chatbot = SubFactory(ChatbotFactory)


class PersonaFactory(DjangoModelFactory):
    class Meta:
        model = Persona

    chatbot = SubFactory(ChatbotFactory)
    title = Sequence("Persona {}".format)


class InstructionFactory(DjangoModelFactory):
    class Meta:
        model = Instruction

    chatbot = SubFactory(ChatbotFactory)
    title = Sequence("Instruction {}".format)
    instruction = "Answer kindly."


class FollowUpPromptFactory(DjangoModelFactory):
    class Meta:
        model = FollowUpPrompt

    chatbot = SubFactory(ChatbotFactory)
    button_title, button_message = "Prices", "What does it cost?"
