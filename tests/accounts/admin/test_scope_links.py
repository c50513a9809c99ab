"""Pages link only to pages that the signed-in user may open."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.admin_urls import opened
from tests.factories.staff import ACCOUNT_ADMINS, AGENTS, signed_in, staff
from tests.factories.tenant import Tenant

LINK = re.compile(r'<a\b[^>]*\bhref="(/admin/[^"#]*)')
HOME = reverse("admin:index")
ROLES = ("owner", AGENTS), ("owner", ACCOUNT_ADMINS), ("member", AGENTS), ("member", ACCOUNT_ADMINS)


def links(html: str) -> set[str]:
    """Return the addresses that a page links to, except for links that sign the user out."""
    found = {unescape(address) for address in LINK.findall(html)}
    return {address for address in found if "logout" not in address}


def opens(client: Client, address: str) -> bool:
    """Return whether the user can open a page.

    The page of a missing row redirects to the home page.
    """
    answer = client.get(address)
    return answer.status_code == 200 or (answer.status_code == 302 and answer["Location"] != HOME)


@pytest.mark.slow
@pytest.mark.parametrize(("user", "group"), ROLES)
def test_every_link_leads_to_a_page_that_the_person_may_open(
    user: str, group: str, default_model: Any
) -> None:
    tenant = Tenant("mine")
    client = signed_in(staff(getattr(tenant, user), group))
    sources = {
        link: address
        for address, page in opened(client, tenant)
        for link in links(page.content.decode())
    }
    assert len(sources) > 30
    assert [found for found in sources.items() if not opens(client, found[0])] == []


def test_the_account_is_linked_only_for_people_who_may_open_its_page(default_model: Any) -> None:
    tenant = Tenant("mine")
    account = reverse("admin:accounts_account_change", args=[tenant.account.pk])
    chatbot = reverse("admin:chatbots_chatbot_change", args=[tenant.chatbot.pk])
    for user, group, linked in (
        (tenant.owner, ACCOUNT_ADMINS, True),
        (tenant.member, ACCOUNT_ADMINS, False),
        (tenant.member, AGENTS, False),
    ):
        user.groups.clear()
        page = signed_in(staff(user, group)).get(chatbot).text
        assert (account in links(page)) is linked
        assert "mine account" in page


def test_the_plan_of_an_account_is_not_linked_for_its_owner(default_model: Any) -> None:
    tenant = Tenant("mine")
    account = reverse("admin:accounts_account_change", args=[tenant.account.pk])
    page = signed_in(staff(tenant.owner, ACCOUNT_ADMINS)).get(account).text
    plan = tenant.account.plan
    assert reverse("admin:accounts_plan_change", args=[plan.pk]) not in links(page)
    assert plan.name in page
