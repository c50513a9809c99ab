"""The routes of chatbots and their settings, as the specification defines them."""

from django.urls import path

from chatbots.viewsets.appearance import AppearanceViewSet
from chatbots.viewsets.chatbot import AccountChatbotViewSet, OwnChatbotViewSet
from chatbots.viewsets.conversation_starter import ConversationStarterViewSet
from chatbots.viewsets.follow_up_prompt import FollowUpPromptViewSet
from chatbots.viewsets.general_settings import GeneralSettingsViewSet
from chatbots.viewsets.instruction import InstructionViewSet
from chatbots.viewsets.lead_settings import LeadSettingsViewSet
from chatbots.viewsets.localization import LocalizationViewSet
from chatbots.viewsets.persona import PersonaViewSet
from chatbots.viewsets.settings import SettingsViewSet
from chatbots.viewsets.user_data import UserDataViewSet

ACCOUNT = "v1/chatbots/account/<str:account_id>"
ONE = "v1/chatbots/chatbot/<str:chatbot_id>"
ONE_V0 = "v0/chatbots/chatbot/<str:chatbot_id>"

urlpatterns = [
    path("v1/chatbots", OwnChatbotViewSet.as_view({"get": "list_chatbots"})),
    path("v1/chatbots/my-chatbots", OwnChatbotViewSet.as_view({"get": "list_my_chatbots"})),
    path(
        f"{ACCOUNT}/create-chatbot",
        AccountChatbotViewSet.as_view({"post": "create_chatbot"}),
    ),
    path(
        f"{ACCOUNT}/chatbot/<str:chatbot_id>",
        AccountChatbotViewSet.as_view({"patch": "update_chatbot"}),
    ),
    path(
        f"{ACCOUNT}/all-chatbots",
        AccountChatbotViewSet.as_view({"get": "list_account_chatbots"}),
    ),
    path(f"{ONE}/appearance", AppearanceViewSet.as_view({"get": "retrieve", "put": "update"})),
    path(f"{ONE}/localization", LocalizationViewSet.as_view({"get": "list"})),
    path(
        f"{ONE}/follow-up-prompts/<str:follow_up_prompt_id>",
        FollowUpPromptViewSet.as_view({"patch": "update"}),
    ),
    path(f"{ONE}/instructions", InstructionViewSet.as_view({"post": "create"})),
    path(f"{ONE}/instructions/select-instruction", InstructionViewSet.as_view({"post": "select"})),
    path(
        f"{ONE}/instructions/<str:instruction_id>",
        InstructionViewSet.as_view({"patch": "update"}),
    ),
    path(f"{ONE}/personas/<str:persona_id>", PersonaViewSet.as_view({"patch": "update"})),
    path(
        f"{ONE}/lead-settings",
        LeadSettingsViewSet.as_view({"post": "create", "get": "retrieve", "delete": "destroy"}),
    ),
    path(
        f"{ONE}/conversation-starters",
        ConversationStarterViewSet.as_view({"post": "create"}),
    ),
    path(f"{ONE}/settings", SettingsViewSet.as_view({"put": "update"})),
    path(f"{ONE_V0}/settings/general", GeneralSettingsViewSet.as_view({"patch": "update"})),
    path(f"{ONE_V0}/settings/user-data", UserDataViewSet.as_view({"patch": "update"})),
]
