"""What all pages have in common: headers of tables, and forms that can be sent once."""

import re
from typing import Any

from django.urls import reverse

from accounts.models import ApiKey
from tests.admin_urls import opened
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from tests.pages import fields_of
from tests.refusing import refusing

HEADER = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
NAME = re.compile(r'aria-label="[^"]+"')
ISSUE = reverse("admin:accounts_apikey_add")


def test_a_failed_form_can_be_submitted_again(transactional_db: None) -> None:
    client = signed_in(superuser(), raise_request_exception=False)
    form = fields_of(client.get(ISSUE))
    with refusing(ApiKey):
        assert client.post(ISSUE, form).status_code == 500
    assert client.post(ISSUE, form).status_code == 200
    assert client.post(ISSUE, form).status_code == 302
    assert ApiKey.objects.count() == 1


def test_every_header_of_a_table_has_a_text(default_model: Any) -> None:
    client, found = signed_in(superuser()), 0
    home = ("/admin/?span=30d", client.get("/admin/?span=30d"))
    for address, page in [home, *opened(client, Tenant("mine"))]:
        for header in HEADER.findall(page.text):
            assert NAME.search(header) or re.sub("<[^>]*>", "", header).strip(), address
            found += 1
    assert found > 100
