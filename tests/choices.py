"""Read the options of a select, and search the choices of a field."""

import re
from typing import Any

from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.models import User
from chatbots.models import LlmModel
from config.admin.choices import OFFERED
from tests.factories import bulk

SEARCH = reverse("admin:autocomplete")
OPTION = re.compile(r'<option value="([^"]*)"( selected)?')
COLUMNS = {User: "email", LlmModel: "title"}


def copies(row: Model, number: int = OFFERED, **columns: str) -> list[Any]:
    """Store copies of a row, by default as many as a select offers. Returns them sorted by name."""
    kind, column = type(row), COLUMNS.get(type(row), "name")
    bulk.copy(row, number, {column: "'zz' || (1000 + s.n) || '@example.com'", **columns})
    return list(kind._default_manager.filter(**{f"{column}__startswith": "zz"}).order_by(column))


def select(client: Client, address: str, name: str) -> tuple[str, dict[str, bool]]:
    """Return a select's opening tag, and a dict that maps each option to whether it is selected."""
    found = re.search(
        rf'(<select name="{name}"[^>]*>)(.*?)</select>', client.get(address).text, re.S
    )
    assert found, name
    return found[1], {value: bool(chosen) for value, chosen in OPTION.findall(found[2])}


def search(client: Client, field: str, term: str) -> Any:
    """Search the choices of a field. `field` has the form "app.model.field"."""
    names = ("app_label", "model_name", "field_name")
    return client.get(SEARCH, dict(zip(names, field.split("."), strict=True)) | {"term": term})


def texts(client: Client, field: str, term: str) -> list[str]:
    return [one["text"] for one in search(client, field, term).json()["results"]]
