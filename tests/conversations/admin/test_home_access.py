"""The home page for staff who have no permissions or no chatbots."""

from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import AGENTS, signed_in, staff, superuser

HOME = reverse("admin:index")
CHATBOTS = reverse("admin:chatbots_chatbot_changelist")


def test_staff_without_permissions_learn_what_to_ask_for(chatbot: Chatbot) -> None:
    owner = chatbot.account.owner
    owner.is_staff = True
    owner.save()
    page = signed_in(owner).get(HOME).text
    assert "Ask a superuser to add you to the group" in page
    assert "excluding erased" not in page
    owner.groups.set(staff(UserFactory(), AGENTS).groups.all())
    page = signed_in(owner).get(HOME).text
    assert "Ask a superuser to add you to the group" not in page
    assert "excluding erased" in page


def test_a_superuser_of_a_new_installation_learns_where_to_begin(db: None) -> None:
    client = signed_in(superuser())
    assert "There are no chatbots yet. Add one on the page of an" in client.get(HOME).text
    accounts = client.get(reverse("admin:accounts_account_changelist")).text
    assert "Superusers can add one." in accounts
    assert "Add one on the page of an account" in client.get(CHATBOTS).text
    ChatbotFactory()
    assert "There are no chatbots" not in client.get(HOME).text
