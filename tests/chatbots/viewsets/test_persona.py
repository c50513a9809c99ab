from typing import Any

import pytest

from chatbots.models import Chatbot, Persona
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import PERSONA, check
from tests.conftest import Api
from tests.factories.chatbots import PersonaFactory
from tests.fields import SHARE, check_fields, name, nullable, text

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


FIELDS = {
    "title": name(50),
    "description": nullable(text(65_535)),
    "instructions": text(65_535),
    "creativityLevel": SHARE,
}


@pytest.mark.proves("Personas/update", "Persona/record")
def test_every_field_is_checked_and_stored(api: Api, there: str, persona: Persona) -> None:
    check_fields(api.patch, there, FIELDS, lambda: stored(persona))
