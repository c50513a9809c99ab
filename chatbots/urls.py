"""The routes of chatbots and their settings, as the specification defines them."""

from django.urls import include, path

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

ACCOUNT = [
    path("create-chatbot", AccountChatbotViewSet.as_view({"post": "create_chatbot"})),
    path("chatbot/<str:chatbot_id>", AccountChatbotViewSet.as_view({"patch": "update_chatbot"})),
    path("all-chatbots", AccountChatbotViewSet.as_view({"get": "list_account_chatbots"})),
]
CHATBOT = [
    path("appearance", AppearanceViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("localization", LocalizationViewSet.as_view({"get": "list"})),
    path(
        "follow-up-prompts/<str:follow_up_prompt_id>",
        FollowUpPromptViewSet.as_view({"patch": "update"}),
    ),
    path("instructions", InstructionViewSet.as_view({"post": "create"})),
    path("instructions/select-instruction", InstructionViewSet.as_view({"post": "select"})),
    path("instructions/<str:instruction_id>", InstructionViewSet.as_view({"patch": "update"})),
    path("personas/<str:persona_id>", PersonaViewSet.as_view({"patch": "update"})),
    path(
        "lead-settings",
        LeadSettingsViewSet.as_view({"post": "create", "get": "retrieve", "delete": "destroy"}),
    ),
    path("conversation-starters", ConversationStarterViewSet.as_view({"post": "create"})),
    path("settings", SettingsViewSet.as_view({"put": "update"})),
]
CHATBOT_V0 = [
    path("settings/general", GeneralSettingsViewSet.as_view({"patch": "update"})),
    path("settings/user-data", UserDataViewSet.as_view({"patch": "update"})),
]

urlpatterns = [
    path("v1/chatbots/chatbot/<str:chatbot_id>/", include(CHATBOT)),
    path("v0/chatbots/chatbot/<str:chatbot_id>/", include(CHATBOT_V0)),
    path("v1/chatbots", OwnChatbotViewSet.as_view({"get": "list_chatbots"})),
    path("v1/chatbots/my-chatbots", OwnChatbotViewSet.as_view({"get": "list_my_chatbots"})),
    path("v1/chatbots/account/<str:account_id>/", include(ACCOUNT)),
]
