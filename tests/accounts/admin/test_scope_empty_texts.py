"""Every list in the admin shows its own message when the list is empty."""

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from tests.factories.staff import signed_in, superuser

pytestmark = pytest.mark.django_db
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label_lower)
# Models whose lists can contain rows in this test. A list with rows does not show `empty_text`.
NEVER_EMPTY = {"accounts.user", "accounts.plan"}


@pytest.fixture
def client() -> Client:
    return signed_in(superuser())


def empty_text(model: type[Model]) -> str:
    return str(getattr(admin.site._registry[model], "empty_text", ""))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label_lower)
def test_an_empty_list_shows_its_own_message(client: Client, model: type[Model]) -> None:
    name = model._meta.label_lower
    page = client.get(reverse(f"admin:{name.replace('.', '_')}_changelist"))
    shown = page.context["cl"]
    text = str(getattr(shown, "empty_text", "") or empty_text(model))
    assert text
    assert [other for other in MODELS if empty_text(other) == text] in ([model], [])
    if name not in NEVER_EMPTY and not shown.result_list:
        assert text in page.text
