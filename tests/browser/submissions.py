"""Pages that have no fixed address: responses to forms, and invitation pages."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import Invitation, Mail, User
from chatbots.models import Instruction
from conversations.models import Thread
from conversations.services import agent_message
from tests.browser.conftest import send_button
from tests.factories.accounts import AccountFactory, UserFactory
from tests.factories.tenant import Tenant


def at(name: str, *arguments: Any) -> str:
    return reverse(f"admin:{name}", args=arguments)


def submit(page: Page, button: str) -> None:
    """Press a button, and wait for the response."""
    with page.expect_navigation():
        page.get_by_role("button", name=button, exact=True).first.click()


def issue_a_key(page: Page, tenant: Tenant) -> None:
    page.goto(at("accounts_apikey_add"))
    submit(page, "Issue")


def replace_a_secret(page: Page, tenant: Tenant) -> None:
    page.goto(at("webhooks_endpoint_secret", tenant.chatbot.pk) + "?again=1")
    submit(page, "Replace the secret")


def send_a_sample(page: Page, tenant: Tenant) -> None:
    page.goto(at("webhooks_endpoint_of", tenant.chatbot.pk))
    submit(page, "Send sample")


def configure_a_webhook_wrongly(page: Page, tenant: Tenant) -> None:
    page.goto(at("webhooks_endpoint_of", tenant.chatbot.pk))
    page.get_by_label("URL").fill("nowhere")
    submit(page, "Save")


def add_a_persona_without_a_title(page: Page, tenant: Tenant) -> None:
    page.goto(at("chatbots_persona_add"))
    submit(page, "Save")


def change_a_chatbot_wrongly(page: Page, tenant: Tenant) -> None:
    page.goto(at("chatbots_chatbot_change", tenant.chatbot.pk))
    page.get_by_label("Name", exact=False).first.fill("")
    submit(page, "Save")


def delete_a_chatbot_by_a_wrong_name(page: Page, tenant: Tenant) -> None:
    page.goto(at("chatbots_chatbot_delete", tenant.chatbot.pk))
    page.get_by_label("To confirm, type the name").fill("another")
    submit(page, "Delete")


def save_what_another_person_has_saved(page: Page, tenant: Tenant) -> None:
    [key] = tenant.keys_of(Instruction)
    page.goto(at("chatbots_instruction_change", key))
    Instruction.objects.filter(pk=key).update(title="theirs", updated_at=timezone.now())
    submit(page, "Save")


def ask_the_bot(page: Page, tenant: Tenant) -> None:
    page.goto(at("chatbots_chatbot_try", tenant.chatbot.pk))
    page.get_by_label("Message", exact=False).last.fill("Hello")
    submit(page, "Ask")


def answer_after_a_colleague(page: Page, tenant: Tenant) -> None:
    [key] = tenant.keys_of(Thread)
    page.goto(at("conversations_thread_change", key))
    page.locator("#reply-text").fill("Let me look")
    agent_message.answer(Thread.objects.get(pk=key).pk, agent=tenant.member, content="I looked")
    send_button(page).click()
    page.get_by_text("another agent answered").wait_for()


def save_a_chatbot(page: Page, tenant: Tenant) -> None:
    page.goto(at("chatbots_chatbot_change", tenant.chatbot.pk))
    submit(page, "Save")


def open_an_invitation(page: Page) -> Invitation:
    """Create an invitation, and open the page that the link in its email leads to."""
    Invitation.objects.all().delete()
    invitation = Invitation.objects.create(
        account=AccountFactory(name="Corner shop"), email="ann@example.com", role="MEMBER"
    )
    page.goto(invitation.link(invitation.mailed).removeprefix(settings.PUBLIC_URL))
    page.get_by_role("button", name="Accept").wait_for()
    return invitation


def open_the_invitation_of_a_known_person(page: Page) -> None:
    UserFactory(email="ann@example.com")
    open_an_invitation(page)
    page.get_by_role("link", name="Forgot password?").wait_for()
    User.objects.filter(email="ann@example.com").delete()


def forget_the_password(page: Page) -> None:
    page.goto(reverse("password_reset"))
    page.get_by_label("Email").fill("nobody@example.com")
    submit(page, "Send the link")
    page.get_by_text("Check your inbox").wait_for()


def open_the_link_that_sets_a_password(page: Page) -> None:
    mail = Mail(person=UserFactory(), body="")
    page.goto(mail.text.strip().removeprefix(settings.PUBLIC_URL))
    page.get_by_role("button", name="Set the password").wait_for()


def open_a_withdrawn_invitation(page: Page) -> None:
    invitation = open_an_invitation(page)
    link = invitation.link(invitation.mailed).removeprefix(settings.PUBLIC_URL)
    invitation.delete()
    page.goto(link)
    page.get_by_text("This invitation is not valid").wait_for()


INVITATIONS: tuple[Callable[[Page], object], ...] = (
    open_an_invitation,
    open_the_invitation_of_a_known_person,
    forget_the_password,
    open_the_link_that_sets_a_password,
    open_a_withdrawn_invitation,
)
SUBMISSIONS: tuple[Callable[[Page, Tenant], None], ...] = (
    issue_a_key,
    replace_a_secret,
    send_a_sample,
    configure_a_webhook_wrongly,
    add_a_persona_without_a_title,
    change_a_chatbot_wrongly,
    delete_a_chatbot_by_a_wrong_name,
    save_what_another_person_has_saved,
    ask_the_bot,
    answer_after_a_colleague,
    save_a_chatbot,
)


def queries(tenant: Tenant) -> list[str]:
    """Return addresses whose query string changes what the page shows."""
    bot = tenant.chatbot.pk
    [instruction] = tenant.keys_of(Instruction)
    lists = ("conversations_thread", "conversations_lead", "webhooks_delivery", "accounts_apikey")
    return [
        *(f"{at(f'{name}_changelist')}?q=nothing-matches" for name in lists),
        f"{at('conversations_thread_changelist')}?view=waiting",
        f"{at('conversations_thread_changelist')}?view=archived",
        f"{at('conversations_thread_changelist')}?q={tenant.word}",
        f"{at('webhooks_delivery_changelist')}?state__exact=FAILED&chatbot={bot}",
        f"{at('chatbots_instruction_versions', instruction)}?old=1&new=1",
        f"{at('index')}?span=30d",
    ]
