from chatbots.models.appearance import Appearance
from chatbots.models.chatbot import Chatbot, ChatbotMember
from chatbots.models.conversation_starter import ConversationStarter
from chatbots.models.follow_up_prompt import FollowUpPrompt
from chatbots.models.general_settings import GeneralSettings
from chatbots.models.instruction import Instruction
from chatbots.models.lead_settings import LeadSettings
from chatbots.models.llm_model import LlmModel
from chatbots.models.localization import Localization
from chatbots.models.persona import Persona
from chatbots.models.version import Version

__all__ = [
    "Appearance",
    "Chatbot",
    "ChatbotMember",
    "ConversationStarter",
    "FollowUpPrompt",
    "GeneralSettings",
    "Instruction",
    "LeadSettings",
    "LlmModel",
    "Localization",
    "Persona",
    "Version",
]
