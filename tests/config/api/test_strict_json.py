"""Request bodies must be strict JSON within limits. Any other body gets a 400."""

import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from chatbots.models import Chatbot, ConversationStarter
from config.api import strict_json
from config.api.errors import InvalidRequest
from tests.conftest import Api

pytestmark = pytest.mark.proves("Bodies", "HTTP statuses")

BOM = b"\xef\xbb\xbf"


def nested(depth: int, *, of: str = "{}") -> bytes:
    """Return JSON for `depth` nested objects.

    With `of="[]"`, return an object that contains `depth` nested arrays.
    """
    opening, closing = ('{"a":', "}") if of == "{}" else ("[", "]")
    inner = opening * (depth - 1) + ("{}" if of == "{}" else "[]") + closing * (depth - 1)
    return inner.encode() if of == "{}" else b'{"a":' + inner.encode() + b"}"


def filled(unit: str, *, number: int = strict_json.MAX_BYTES) -> bytes:
    """Return JSON for an object with an array of `number` equal values, but at most 1 MiB."""
    number = min(number, (strict_json.MAX_BYTES - 10) // (len(unit) + 1))
    return b'{"tags":[' + ",".join([unit] * number).encode() + b"]}"


@pytest.fixture
def starters(chatbot: Chatbot) -> str:
    """The path of the only operation whose body may be any object."""
    return f"/v1/chatbots/chatbot/{chatbot.pk}/conversation-starters"


REFUSED = [
    pytest.param(b" ", [], "Expected a JSON object", id="white space"),
    pytest.param(b"{", [], "Expected a JSON object", id="cut short"),
    pytest.param(b"{} {}", [], "Expected a JSON object", id="two objects"),
    pytest.param(b"{'a': 1}", [], "Expected a JSON object", id="single quotes"),
    pytest.param(b'{"a": 1,}', [], "Expected a JSON object", id="trailing comma"),
    pytest.param(b"[]", [], "Expected object", id="array"),
    pytest.param(b"null", [], "Expected object", id="null"),
    pytest.param(b"5", [], "Expected object", id="number"),
    pytest.param(b'"x"', [], "Expected object", id="string"),
    pytest.param(BOM + b"{}", [], "Expected a JSON object", id="byte order mark"),
    pytest.param('{"a": "ä"}'.encode("latin-1"), [], "Expected a JSON object", id="Latin-1"),
    pytest.param('{"a": 1}'.encode("utf-16"), [], "Expected a JSON object", id="UTF-16"),
    pytest.param(b'{"a": NaN}', [], "NaN is not JSON", id="NaN"),
    pytest.param(b'{"a": Infinity}', [], "Infinity is not JSON", id="Infinity"),
    pytest.param(b'{"a": -Infinity}', [], "-Infinity is not JSON", id="-Infinity"),
    pytest.param(b'{"a": 1e999}', [], "Number out of range", id="1e999"),
    pytest.param(b'{"a": ' + b"9" * 310 + b"}", [], "Number out of range", id="310 digits"),
    pytest.param(b'{"a": 1, "a": 2}', [], "Duplicate key", id="duplicate key"),
    pytest.param(
        b'{"b": {"a": 1, "\\u0061": 2}}',
        [],
        "Duplicate key",
        id="duplicate key, nested and escaped",
    ),
    pytest.param(b'{"a": "\\u0000"}', ["a"], "Contains a character", id="NUL"),
    pytest.param(
        b'{"a": ["x", "\\ud800"]}', ["a", "1"], "Contains a character", id="lone surrogate"
    ),
    pytest.param(b'{"\\u0000": 1}', [], "Contains a character", id="NUL in a key"),
    pytest.param(nested(33), [], "Nested deeper than 32", id="33 objects deep"),
    pytest.param(nested(32, of="[]"), [], "Nested deeper than 32", id="33 deep, with arrays"),
    pytest.param(nested(4_000), [], "Nested deeper than 32", id="4,000 deep"),
    pytest.param(b'{"a":"' + b"x" * 1024 * 1024 + b'"}', [], "Larger than 1048576", id="too large"),
    pytest.param(b'{"a":[' + b"1," * 9_997 + b"1]}", [], "More than 10000", id="10,001 values"),
    pytest.param(filled('""'), [], "More than 10000 names and values", id="too many strings"),
    pytest.param(
        b'{"a":"\\",' * 6_000, [], "More than 10000", id="strings that end in a backslash"
    ),
]


@pytest.mark.proves("Bodies/validation", "Response envelope/error", "HTTP statuses/400")
@pytest.mark.parametrize(("raw", "path", "message"), REFUSED)
def test_an_invalid_body_is_a_400_with_the_reason(
    api: Api, starters: str, raw: bytes, path: list[str], message: str
) -> None:
    answer = api.client.generic(
        "POST",
        f"/api{starters}",
        raw,
        content_type="application/json",
        headers={"Authorization": f"Bearer {api.key}"},
    )
    assert answer.status_code == 400
    refusal = answer.json()
    assert list(refusal) == ["success", "message", "code", "errors"]
    assert refusal["success"] is False
    assert refusal["message"] == "request body is not valid"
    assert refusal["code"] == "REQUEST_VALIDATION_FAILED"
    [fault] = refusal["errors"]
    assert fault["path"] == path
    assert fault["message"].startswith(message)
    assert not ConversationStarter.objects.exists()


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"{}", id="empty"),
        pytest.param(nested(32), id="32 objects deep"),
        pytest.param(nested(31, of="[]"), id="32 deep, with arrays"),
        pytest.param(b' \n{"a": 1}\t', id="surrounding white space"),
        pytest.param('{"a": "😀\\ud83d\\ude00"}'.encode(), id="whole surrogate pairs"),
        pytest.param(b'{"a": 123456789012345678901234567890}', id="large integer"),
        pytest.param(b'{"a": ' + b"9" * 308 + b"}", id="308 digits"),
        pytest.param(b'{"a": -0.0, "b": 1e-400, "c": 1E5}', id="extreme numbers"),
        pytest.param(b'{"a":"' + b"x" * (1024 * 1024 - 8) + b'"}', id="1 MiB"),
        pytest.param(b'{"a":[' + b"1," * 9_996 + b"1]}", id="10,000 values"),
        pytest.param(b'{"a": "' + b'\\",[{:0' * 100_000 + b'"}', id="punctuation inside a string"),
    ],
)
def test_a_body_within_the_limits_is_stored_unchanged(api: Api, starters: str, raw: bytes) -> None:
    answer = api.post(starters, raw)
    assert answer.status_code == 200, answer.content[:300]
    assert json.loads(raw).items() <= answer.json()["data"].items()


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-patch+json",
        "application/xml",
        "nonsense",
    ],
)
def test_another_content_type_is_a_400(api: Api, starters: str, kind: str) -> None:
    answer = api.client.generic(
        "POST",
        f"/api{starters}",
        b"{}",
        content_type=kind,
        headers={"Authorization": f"Bearer {api.key}"},
    )
    assert answer.status_code == 400
    [fault] = answer.json()["errors"]
    assert fault == {"path": [], "message": "Expected content type application/json"}


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=latin-1",  # JSON is UTF-8, whatever the header says
        "application/json; charset=nonsense",
    ],
)
def test_json_is_utf_8_whatever_its_parameters_say(api: Api, starters: str, kind: str) -> None:
    answer = api.client.generic(
        "POST",
        f"/api{starters}",
        '{"a": "ä"}'.encode(),
        content_type=kind,
        headers={"Authorization": f"Bearer {api.key}"},
    )
    assert (answer.status_code, answer.json()["data"]["a"]) == (200, "ä")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "nonsense", "*/*;q=0"])
def test_every_response_is_json_whatever_the_client_accepts(api: Api, accept: str) -> None:
    for path in ("/v1/chatbots", "/v1/nowhere"):
        answer = api.get(path, Accept=accept)
        assert answer["Content-Type"] == "application/json"


def test_unknown_fields_are_ignored(api: Api, chatbot: Chatbot) -> None:
    there = f"/v1/chatbots/account/{chatbot.account_id}/chatbot/{chatbot.pk}"
    answer = api.patch(there, {"name": "known", "accountId": "x", "unknown": {"a": [1]}})
    assert (answer.status_code, answer.json()["data"]["name"]) == (200, "known")


def declared(size: int | str) -> dict[str, Any]:
    """Build a request environment that declares this content length."""
    return {"CONTENT_LENGTH": str(size)}


def test_an_oversized_declared_length_is_rejected_without_reading(api: Api, starters: str) -> None:
    answer = Client(raise_request_exception=False).generic(
        "POST",
        f"/api{starters}",
        b"{}",
        content_type="application/json",
        headers={"Authorization": f"Bearer {api.key}"},
        **declared(10**12),
    )
    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"path": [], "message": "Larger than 1048576 bytes"}]


def test_a_missing_body_counts_as_one_without_fields(api: Api, chatbot: Chatbot) -> None:
    answer = api.post(f"/v1/chatbots/account/{chatbot.account_id}/create-chatbot")
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        [{"path": [name], "message": "Required"} for name in ("name", "description")],
    )


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(value=JSON)
def test_valid_json_is_parsed_exactly(value: Any) -> None:
    raw = json.dumps(value, ensure_ascii=False).encode()
    assert strict_json.parse(raw) == value
    assert json.loads(strict_json.dumps(value)) == value


@given(
    raw=st.binary(max_size=200) | st.text('{}[]",:0123456789eE+-.\\u nulltrefas').map(str.encode)
)
@example(raw=b"\xff\xfe")
@example(raw=b'{"a":' * 5000)
@example(raw=b"[" * 200_000)
def test_any_bytes_are_either_parsed_or_rejected(raw: bytes) -> None:
    try:
        value = strict_json.parse(raw)
    except InvalidRequest as refusal:
        assert refusal.errors
    else:
        assert value == json.loads(raw)
