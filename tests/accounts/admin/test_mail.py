"""The list of an account's emails, which the account's page links to."""

import pytest
from django.urls import reverse

from accounts.models import Account, Mail
from tests.factories.accounts import AccountFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser

MAILS = reverse("admin:accounts_mail_changelist")

pytestmark = pytest.mark.django_db


def test_an_account_links_to_its_own_emails() -> None:
    mine, other = AccountFactory(name="Acme"), AccountFactory(name="Globex")
    for account in (mine, other):
        Mail.objects.create(account=account, to="a@b.example", subject=f"to {account}", body="x")

    def subjects(account: Account, *, boss: bool) -> list[str]:
        client = signed_in(superuser() if boss else staff(mine.owner, ACCOUNT_ADMINS))
        page = client.get(MAILS, {"account": str(account.pk)})
        assert boss or "Globex" not in page.content.decode()
        return [mail.subject for mail in page.context["cl"].result_list]

    page = signed_in(superuser()).get(reverse("admin:accounts_account_change", args=[mine.pk]))
    assert f'href="{MAILS}?account={mine.pk}"' in page.content.decode()
    assert subjects(mine, boss=True) == subjects(mine, boss=False) == ["to Acme"]
    assert subjects(other, boss=True) == ["to Globex"]
    assert subjects(other, boss=False) == []
