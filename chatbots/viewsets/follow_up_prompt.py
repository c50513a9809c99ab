"""Follow-up prompts. Specification: Endpoints, Follow-up prompts."""

from typing import Any

from chatbots.models import FollowUpPrompt
from chatbots.serializers.follow_up_prompt import FollowUpPromptInput, FollowUpPromptRecord
from chatbots.services import follow_up_prompt as prompts
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class FollowUpPromptViewSet(ChatbotViewSet):
    """Change follow-up prompts. Staff create them in the admin."""

    model = FollowUpPrompt
    part = "Follow-up prompts"

    @operation(
        body=FollowUpPromptInput,
        answer=FollowUpPromptRecord,
        message="follow-up prompt updated successfully",
        open_points=("follow-up-body", "escalation-prompt"),
    )
    def update(self, given: dict[str, Any], follow_up_prompt_id: str) -> FollowUpPrompt:
        """Replace a follow-up prompt with the given button or link."""
        return prompts.update(self.chatbot.pk, self.key(follow_up_prompt_id), given)
