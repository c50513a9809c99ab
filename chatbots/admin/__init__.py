from chatbots.admin.chatbot import ChatbotAdmin
from chatbots.admin.conversation_starter import ConversationStarterAdmin
from chatbots.admin.instruction import InstructionAdmin
from chatbots.admin.llm_model import LlmModelAdmin
from chatbots.admin.localization import LocalizationAdmin
from chatbots.admin.persona import PersonaAdmin

__all__ = [
    "ChatbotAdmin",
    "ConversationStarterAdmin",
    "InstructionAdmin",
    "LlmModelAdmin",
    "LocalizationAdmin",
    "PersonaAdmin",
]
