"""The wire formats of a chatbot, one for each documented shape. Specification: Chatbot."""

from accounts.permissions import Role
from chatbots.models import Chatbot
from chatbots.serializers.base import like
from config.api.fields import Identifier, Text, Whole
from config.api.pagination import PageFigures
from config.api.serializers import Record, Shape

ROLES = f"{', '.join([*Role][:-1])} or {[*Role][-1]}"
OWN_FIELDS = [
    "name",
    "description",
    "is_active",
    "created_by_user_id",
    "created_at",
    "updated_at",
]


class NewChatbotRecord(Record):
    """A newly created chatbot."""

    chatbot_id = Identifier(source="id")

    class Meta:
        model = Chatbot
        fields = ["chatbot_id", "account_id", "name", "description", "is_active"]


class ChatbotRecord(Record):
    """A chatbot."""

    chatbot_id = Identifier(source="id")

    class Meta:
        model = Chatbot
        fields = ["chatbot_id", *OWN_FIELDS]


class MyChatbotRecord(Record):
    """A chatbot with the caller's role in it."""

    chatbot_id = Identifier(source="id")
    user_chatbot_role = Text(
        source="caller_role",
        allow_null=True,
        help_text="The caller's role in the chatbot; null if the caller was not added to it.",
    )
    open_points = {"user_chatbot_role": ["roles", "my-chatbots"]}

    class Meta:
        model = Chatbot
        fields = ["chatbot_id", "account_id", *OWN_FIELDS, "user_chatbot_role"]


class AccountChatbots(Shape):
    """All chatbots of an account, newest first."""

    chatbots = ChatbotRecord(many=True)
    count = Whole()
    user_role = Text(help_text=f"The caller's role in the account: {ROLES}.")
    open_points = {"user_role": ["roles"]}


class MyAccount(Shape):
    """An account that the caller owns or belongs to, with the chatbots that they may use in it."""

    account_id = Identifier(source="id")
    account_name = Text(source="name")
    user_role = Text(source="caller_role", help_text=f"The caller's role in the account: {ROLES}.")
    chatbots = MyChatbotRecord(many=True)
    open_points = {"user_role": ["roles"]}


class MyChatbots(Shape):
    """The chatbots that the caller may use, grouped by account."""

    accounts = MyAccount(many=True)
    total_count = Whole(help_text="The number of chatbots listed, across all accounts.")
    open_points = {"total_count": ["my-chatbots"]}


class ChatbotPage(Shape):
    """A page of the chatbots that the caller may use, newest first."""

    chatbots = ChatbotRecord(many=True)
    pagination = PageFigures()


class ChatbotInput(Shape):
    """A new chatbot."""

    name = like(Chatbot, "name", help_text="Unique within the account.")
    description = Text(max_length=50)  # an update accepts longer text: see ChatbotChanges


class ChatbotChanges(Shape):
    """Changes to a chatbot. Omitted fields keep their values."""

    name = like(
        Chatbot, "name", required=False, allow_blank=False, help_text="Unique within the account."
    )
    description = like(Chatbot, "description", required=False)
    is_active = like(Chatbot, "is_active", required=False)
