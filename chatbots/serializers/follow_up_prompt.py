"""The wire formats of a follow-up prompt. Open point: follow-up-body."""

from typing import Any

from chatbots.models import FollowUpPrompt
from chatbots.models.follow_up_prompt import BUTTON, LINK, one_pair
from chatbots.serializers.base import like
from config.api.fields import Text
from config.api.naming import camel
from config.api.serializers import Record, Shape


class FollowUpPromptRecord(Record):
    """A button or a link offered to visitors."""

    open_points = {"esclate": ["escalation-prompt"]}

    class Meta:
        model = FollowUpPrompt
        fields = [
            "id",
            "chatbot_id",
            "rank",
            "esclate",
            *BUTTON,
            *LINK,
            "created_at",
            "updated_at",
        ]


def part(name: str) -> Any:
    """Declare an optional field of the button or the link. "" and null count as absent."""
    return like(FollowUpPrompt, name, required=False, allow_null=True)


def whole(pair: tuple[str, ...], *, without: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON Schema of a body that has every field in `pair` and no field in `without`."""
    given = {camel(name): {"type": "string", "pattern": Text.PATTERN} for name in pair}
    absent = {camel(name): {"type": ["string", "null"], "maxLength": 0} for name in without}
    return {"type": "object", "required": [*given], "properties": given | absent}


class FollowUpPromptInput(Shape):
    """Either a complete button or a complete link. The fields of the other type are cleared."""

    example = {
        "buttonTitle": "Talk to a person",
        "buttonMessage": "I would like to talk to a person.",
        "esclate": True,
    }
    rule = {"oneOf": [whole(BUTTON, without=LINK), whole(LINK, without=BUTTON)]}
    button_title = part("button_title")
    button_message = part("button_message")
    link_text = part("link_text")
    link_src = part("link_src")
    esclate = like(
        FollowUpPrompt,
        "esclate",
        default=False,
        help_text="If true, a message equal to buttonMessage escalates the conversation.",
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Check that exactly one pair is given, and clear the other pair. Raises Refused."""
        return one_pair(given) | {"esclate": given["esclate"]}
