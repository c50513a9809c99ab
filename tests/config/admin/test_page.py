"""Forms that can be sent once: a failed submission may be sent again."""

from django.urls import reverse

from accounts.models import ApiKey
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of
from tests.refusing import refusing

ISSUE = reverse("admin:accounts_apikey_add")


def test_a_failed_form_can_be_submitted_again(transactional_db: None) -> None:
    client = signed_in(superuser(), raise_request_exception=False)
    form = fields_of(client.get(ISSUE))
    with refusing(ApiKey):
        assert client.post(ISSUE, form).status_code == 500
    assert client.post(ISSUE, form).status_code == 200
    assert client.post(ISSUE, form).status_code == 302
    assert ApiKey.objects.count() == 1
