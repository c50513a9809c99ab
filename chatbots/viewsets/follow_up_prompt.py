"""Follow-up prompts. Specification: Endpoints, Follow-up prompts."""

from typing import Any

from chatbots.models import FollowUpPrompt
from chatbots.serializers.follow_up_prompt import FollowUpPromptInput, FollowUpPromptRecord
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation
from config.database.row import save_changes


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
        prompt: FollowUpPrompt = self.row(follow_up_prompt_id)
        return save_changes(prompt, given)
