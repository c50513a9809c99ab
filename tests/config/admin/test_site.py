"""The routes of the admin's site, and the page that people return to after signing in."""

from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import reverse

from accounts.models import Account
from tests.admin_urls import addresses
from tests.factories.accounts import UserFactory
from tests.factories.staff import AGENTS, signed_in, staff, superuser
from tests.factories.tenant import Tenant

HOST = "http://testserver"


@pytest.mark.parametrize("key", ["x", "0" * 32])
def test_no_row_has_a_public_page(db: None, key: str) -> None:
    kind = ContentType.objects.get_for_model(Account)
    assert signed_in(superuser()).get(f"/admin/r/{kind.pk}/{key}/").status_code == 404


def test_the_list_of_an_app_that_a_person_may_not_open_is_missing(default_model: Any) -> None:
    agent = signed_in(staff(UserFactory(), AGENTS))
    assert agent.get(reverse("admin:app_list", args=["config"])).status_code == 404


def test_after_sign_in_a_buttons_address_leads_to_the_page_with_the_button(
    default_model: Any,
) -> None:
    """After a form error, the browser shows the button's address, which accepts only POST."""
    client, buttons = signed_in(superuser()), 0
    for address in dict.fromkeys(addresses(Tenant("mine"))):
        if client.get(address).status_code != 405:
            continue
        buttons += 1
        referrer = {"Referer": f"{HOST}{address}", "Host": "testserver"}
        ended = (
            Client().get(address),
            Client().post(address),
            Client().post(address, headers=referrer),
            Client().post(reverse("admin:logout"), headers=referrer),
        )
        nexts = {tuple(parse_qs(urlsplit(response.url).query)["next"]) for response in ended}
        for [back] in nexts:
            page = client.get(back, follow=True)
            assert page.status_code == 200, (address, back)
            assert page.request["PATH_INFO"].startswith(urljoin(address, ".."))
    assert buttons > 15
