from typing import Any

import pytest

from chatbots.models import Chatbot, Persona
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import PERSONA, check
from tests.conftest import Api
from tests.factories.chatbots import PersonaFactory

pytestmark = pytest.mark.proves("Personas", "Persona")


@pytest.fixture
def persona(chatbot: Chatbot) -> Persona:
    return PersonaFactory(chatbot=chatbot, description="old", instructions="old")


@pytest.fixture
def there(here: str, persona: Persona) -> str:
    return f"{here}/personas/{persona.pk}"


@pytest.mark.proves("Personas/update", "Persona/record")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"title": " Anna ✓"}, id="title"),
        pytest.param({"title": "😀" * 50}, id="longest title"),
        pytest.param({"description": None}, id="null description"),
        pytest.param({"description": ""}, id="empty description"),
        pytest.param({"description": "😀" * 65_535}, id="longest description"),
        pytest.param({"instructions": ""}, id="empty instructions"),
        pytest.param({"instructions": "x" * 65_535}, id="longest instructions"),
        pytest.param({"creativityLevel": 0}, id="lowest creativity"),
        pytest.param({"creativityLevel": 1}, id="highest creativity"),
        pytest.param({"creativityLevel": 0.75}, id="medium creativity"),
    ],
)
def test_only_provided_fields_are_changed(
    api: Api, there: str, persona: Persona, body: dict[str, Any]
) -> None:
    before = stored(persona)
    answer = api.patch(there, body)
    assert answer.status_code == 200
    assert answer.json()["message"] == "persona updated successfully"
    record = answer.json()["data"]
    check(record, PERSONA)
    assert {name: record[name] for name in body} == body
    assert (record["id"], record["chatbotId"]) == (str(persona.pk), str(persona.chatbot_id))
    after = stored(persona)
    assert len({n for n in after if after[n] != before[n]}) == 3  # including updated_at and version


def test_flags_cannot_be_set(api: Api, there: str, persona: Persona) -> None:
    before = stored(persona)
    assert api.patch(there, {"deletable": False, "isActive": False}).status_code == 200
    assert stored(persona) == before


@pytest.mark.proves("Personas/update", "Persona/record")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param({"title": "x" * 51}, ["title"], id="title too long"),
        pytest.param({"title": 5}, ["title"], id="number as title"),
        pytest.param({"title": None}, ["title"], id="null title"),
        pytest.param({"title": " "}, ["title"], id="blank title"),
        pytest.param({"description": 5}, ["description"], id="number as description"),
        pytest.param({"description": "x" * 65_536}, ["description"], id="description too long"),
        pytest.param({"instructions": None}, ["instructions"], id="null instructions"),
        pytest.param({"instructions": "x" * 65_536}, ["instructions"], id="instructions too long"),
        pytest.param({"creativityLevel": "0.5"}, ["creativityLevel"], id="string as creativity"),
        pytest.param({"creativityLevel": True}, ["creativityLevel"], id="boolean as creativity"),
        pytest.param({"creativityLevel": None}, ["creativityLevel"], id="null creativity"),
        pytest.param({"creativityLevel": 1.0000001}, ["creativityLevel"], id="just above one"),
        pytest.param({"creativityLevel": -1e-9}, ["creativityLevel"], id="just below zero"),
        pytest.param({"creativityLevel": 10**300}, ["creativityLevel"], id="huge creativity"),
    ],
)
def test_a_bad_field_is_named_and_nothing_changes(
    api: Api, there: str, persona: Persona, body: dict[str, Any], path: list[str]
) -> None:
    before = stored(persona)
    raw = repr(body).replace("'", '"').replace("None", "null").replace("True", "true")
    answer = api.patch(there, raw.encode())
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [path])
    assert stored(persona) == before
