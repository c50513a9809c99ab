"""Pages link only to pages that the signed-in user may open."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.admin_urls import opened
from tests.factories.staff import signed_in
from tests.factories.tenant import Tenant

LINK = re.compile(r'<a\b[^>]*\bhref="(/admin/[^"#]*)')
HOME = reverse("admin:index")


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
@pytest.mark.parametrize("user", ["owner", "member"])
def test_every_link_leads_to_a_page_that_the_person_may_open(user: str, default_model: Any) -> None:
    tenant = Tenant("mine")
    client = signed_in(getattr(tenant, user))
    sources = {
        link: address
        for address, page in opened(client, tenant)
        for link in links(page.content.decode())
    }
    assert len(sources) > 30
    assert [found for found in sources.items() if not opens(client, found[0])] == []
