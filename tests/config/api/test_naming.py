"""Names on the wire are derived from Python names."""

import pytest

from config.api.naming import camel, capitalized


@pytest.mark.parametrize(
    ("name", "outside"),
    [
        ("name", "name"),
        ("created_at", "createdAt"),
        ("number_of_smart_followup_question_shown", "numberOfSmartFollowupQuestionShown"),
        ("esclate", "esclate"),
    ],
)
def test_a_field_is_camel_case_on_the_wire(name: str, outside: str) -> None:
    assert camel(name) == outside


@pytest.mark.parametrize(
    ("name", "joined"), [("", ""), ("NEW_LEAD", "NewLead"), ("my_chatbots", "MyChatbots")]
)
def test_every_word_of_a_joined_name_is_capitalized(name: str, joined: str) -> None:
    assert capitalized(name) == joined
