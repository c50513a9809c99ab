"""The rows of the permission table are consistent."""

from accounts.permissions import ADDED, MAY, MEMBER_ROLES, Action


def test_everyone_who_may_use_a_chatbot_may_enter_its_account() -> None:
    people = MAY[Action.USE_CHATBOT] - {ADDED}
    added = set(MEMBER_ROLES)  # only members of the account can be added to its chatbots
    assert people | added <= MAY[Action.ENTER_ACCOUNT]
