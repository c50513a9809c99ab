"""Rules for every request: the envelope, the statuses, the order of checks, and the request id."""

import json
import logging
import re
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from chatbots.models import Chatbot, LeadSettings
from config.runtime import logs
from tests.conftest import Api
from tests.contract.operations import OPERATIONS, Operation, call, ids_of
from tests.factories.chatbots import PersonaFactory
from tests.fields import stored
from tests.refusing import refusing

NOT_FOUND = {"success": False, "message": "resource not found"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
LONG = 10**8  # seconds; a window of this length outlasts the test
PATHS = sorted({operation.path for operation in OPERATIONS})


def told(answer: Any) -> dict[str, Any]:
    """Return the body of an error response. Asserts that it is JSON and has the error envelope."""
    assert answer["Content-Type"] == "application/json"
    body: dict[str, Any] = answer.json()
    assert body["success"] is False
    assert isinstance(body["message"], str)
    return body


@pytest.mark.proves("Response envelope/success")
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_success_has_four_fields_and_timestamps_in_milliseconds(
    api: Api, chatbot: Chatbot, operation: Operation
) -> None:
    answer = call(api, operation, ids_of(chatbot))
    assert answer["Content-Type"] == "application/json"
    body = answer.json()
    assert list(body) == ["statusCode", "success", "message", "data"]
    assert (body["statusCode"], body["success"]) == (200, True)
    assert isinstance(body["data"], dict)
    times = re.findall(r'"\w+At":"([^"]+)"', answer.content.decode())
    assert all(map(TIME.fullmatch, times))
    assert not answer.cookies


@pytest.mark.proves("HTTP statuses/405", "Response envelope/error")
@pytest.mark.parametrize("path", PATHS)
def test_a_method_that_a_path_does_not_support_is_a_405(
    api: Api, chatbot: Chatbot, path: str
) -> None:
    there = path.format(**ids_of(chatbot))
    allowed = {operation.method for operation in OPERATIONS if operation.path == path}
    allowed |= {"HEAD"} if "GET" in allowed else set()
    for method in set(METHODS) - allowed:
        answer = api.call(method, there)
        assert answer.status_code == 405, method
        assert set(answer["Allow"].split(", ")) == allowed
        if method != "HEAD":
            assert told(answer) == {"success": False, "message": "HTTP method not supported"}


@pytest.mark.parametrize("path", ["/v1/chatbots", "/v1/chatbots/my-chatbots"])
def test_head_returns_the_status_and_headers_of_get(api: Api, path: str) -> None:
    get, head = api.get(path), api.call("HEAD", path)
    assert head.status_code == get.status_code == 200
    assert head.content == b""
    for answer in (get, head):
        del answer["X-Request-Id"]  # differs for each request
    assert dict(head.items()) == dict(get.items())


@pytest.mark.proves("HTTP statuses/404")
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v2/chatbots",
        "/v1/chatbots/",
        "/v1/chatbots/my-chatbots/",
        "/v1//chatbots",
        "/V1/chatbots",
        "/v1/chatbots/my-chatbots%0A",
        "/v1/chatbots/chatbot/a%2Fb/appearance",
        "/v0/chatbots",
        "/v1/nowhere?x=%00",
        "/v1/%ff%fe",
    ],
)
def test_an_unknown_path_is_a_json_404_with_and_without_a_key(api: Api, path: str) -> None:
    for who in (api, Api(None)):
        for method in ("GET", "POST", "OPTIONS"):
            answer = who.call(method, path)
            assert (answer.status_code, told(answer)) == (404, NOT_FOUND)


@pytest.mark.parametrize("path", PATHS)
def test_a_trailing_slash_is_another_path(api: Api, chatbot: Chatbot, path: str) -> None:
    answer = api.get(f"{path.format(**ids_of(chatbot))}/")
    assert (answer.status_code, told(answer)) == (404, NOT_FOUND)


class TestOrder:
    """The order of checks: if a request fails several of them, the first determines the error."""

    @pytest.fixture
    def there(self, chatbot: Chatbot) -> str:
        return f"/v1/chatbots/chatbot/{chatbot.pk}/personas/{uuid.uuid4()}"

    @pytest.fixture(autouse=True)
    def limits(self, settings: Any) -> Any:
        settings.RATE_LIMIT_IP = settings.RATE_LIMIT_USER = None
        return settings

    def test_the_address_limit_comes_before_the_route_and_the_key(self, limits: Any) -> None:
        limits.RATE_LIMIT_IP = (1, LONG)
        Api(None).get("/v1/nowhere")
        for path in ("/v1/nowhere", "/v1/chatbots"):
            assert Api(None).get(path).status_code == 429

    def test_the_route_comes_before_the_key(self) -> None:
        assert Api(None).get("/v1/nowhere").status_code == 404

    def test_the_key_comes_before_the_user_limit(self, api: Api, limits: Any) -> None:
        limits.RATE_LIMIT_USER = (1, LONG)
        assert [Api("garbage").get("/v1/chatbots").status_code for _ in range(3)] == [401] * 3
        assert api.get("/v1/chatbots").status_code == 200

    def test_the_key_comes_before_the_method_and_the_id(self) -> None:
        for method, path in (("DELETE", "/v1/chatbots"), ("GET", "/v1/chatting/nonsense/threads")):
            assert Api(None).call(method, path).status_code == 401

    def test_the_user_limit_comes_before_the_method(self, api: Api, limits: Any) -> None:
        limits.RATE_LIMIT_USER = (1, LONG)
        api.get("/v1/chatbots")
        assert api.delete("/v1/chatbots").status_code == 429

    def test_the_method_comes_before_the_chatbot(self, api: Api) -> None:
        assert api.delete(f"/v1/chatting/{uuid.uuid4()}/threads").status_code == 405

    def test_the_chatbot_comes_before_the_body(self, stranger: Api, there: str) -> None:
        assert stranger.patch(there, b"[").status_code == 403
        unknown = there.replace(there.split("/")[4], str(uuid.uuid4()))
        assert stranger.patch(unknown, b"[").status_code == 404

    def test_the_account_comes_before_the_body(self, stranger: Api, api: Api) -> None:
        path = f"/v1/chatbots/account/{uuid.uuid4()}/create-chatbot"
        assert api.post(path, b"[").status_code == 404

    def test_the_chatbot_comes_before_the_query(self, stranger: Api, chatbot: Chatbot) -> None:
        assert stranger.get(f"/v1/chatting/{chatbot.pk}/threads?page=0").status_code == 403

    def test_the_body_comes_before_the_rest_of_the_path(self, api: Api, there: str) -> None:
        assert api.patch(there, {"title": 5}).status_code == 400
        assert api.patch(there, {}).status_code == 404

    def test_the_query_comes_before_the_rest_of_the_path(self, api: Api, chatbot: Chatbot) -> None:
        thread = f"/v1/chatting/{chatbot.pk}/thread/{uuid.uuid4()}/messages"
        assert api.get(f"{thread}?limit=0").status_code == 400
        assert api.get(thread).status_code == 404


@pytest.fixture
def broken_personas(chatbot: Chatbot) -> Any:
    """Create a persona, then rename a column, so that any query for personas fails."""
    row = PersonaFactory(chatbot=chatbot, title="a title that no client may see")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE chatbots_persona RENAME COLUMN title TO lost")
    return row


@pytest.mark.proves("HTTP statuses/500", "Response envelope/error")
def test_a_server_error_is_a_500_without_details(
    api: Api, chatbot: Chatbot, broken_personas: Any, caplog: pytest.LogCaptureFixture
) -> None:
    there = f"/v1/chatbots/chatbot/{chatbot.pk}/personas/{broken_personas.pk}"
    answer = api.patch(there, {"title": "new"}, X_Request_Id="the-broken-one")
    assert answer.status_code == 500
    assert told(answer) == {"success": False, "message": "internal server error"}
    assert answer["X-Request-Id"] == "the-broken-one"
    [record] = [each for each in caplog.records if each.message == "request failed"]
    assert record.exc_info  # the log contains the traceback


class TestRequestId:
    """The X-Request-Id header of requests and responses."""

    @pytest.mark.parametrize("given", ["abc", "A-b_c.9", "x" * 64])
    def test_a_valid_id_is_kept(self, given: str) -> None:
        assert Api(None).get("/v1/chatbots", X_Request_Id=given)["X-Request-Id"] == given

    @pytest.mark.parametrize("given", ["", " ", "a b", "x" * 65, "ä", "a\tb", "<script>", 'a"b'])
    def test_an_invalid_id_is_replaced(self, given: str) -> None:
        made = Api(None).get("/v1/chatbots", X_Request_Id=given)["X-Request-Id"]
        assert re.fullmatch(r"[0-9a-f]{32}", made)

    def test_every_response_has_its_own_id(self, api: Api, settings: Any) -> None:
        answers = [
            api.get("/v1/chatbots"),
            api.get("/v1/nowhere"),
            api.delete("/v1/chatbots"),
            api.get("/v1/chatbots?page=0"),
            Api(None).get("/v1/chatbots"),
            Client().get("/healthz"),
        ]
        settings.RATE_LIMIT_IP = (1, LONG)
        answers += [api.get("/v1/chatbots"), api.get("/v1/chatbots")]
        assert [answer.status_code for answer in answers] == [
            200,
            404,
            405,
            400,
            401,
            200,
            200,
            429,
        ]
        assert len({answer["X-Request-Id"] for answer in answers}) == len(answers)

    def test_the_log_lines_of_a_request_contain_its_id(
        self, api: Api, chatbot: Chatbot, broken_personas: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        lines: list[str] = []

        class Kept(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                lines.append(logs.JsonFormatter().format(record))

        handler = Kept()
        logger = logging.getLogger("config.api.errors")
        logger.addHandler(handler)
        try:
            there = f"/v1/chatbots/chatbot/{chatbot.pk}/personas/{broken_personas.pk}"
            api.patch(there, {"title": "new"}, X_Request_Id="named")
        finally:
            logger.removeHandler(handler)
        assert [json.loads(line)["requestId"] for line in lines] == ["named"]


def test_an_unknown_host_is_rejected_in_the_envelope(api: Api) -> None:
    answer = api.get("/v1/chatbots", Host="evil.example")
    assert answer.status_code == 400
    assert told(answer)["message"] == "bad request"
    assert Client().get("/healthz", headers={"Host": "10.0.0.7"}).status_code == 200


def test_a_response_has_its_content_length(api: Api) -> None:
    for path in ("/v1/chatbots", "/v1/nowhere"):
        answer = api.get(path)
        assert int(answer["Content-Length"]) == len(answer.content)


def test_a_change_that_fails_is_rolled_back_completely(
    transactional_db: None, api: Api, chatbot: Chatbot
) -> None:
    """If the user data is invalid or cannot be written, the general settings are not stored."""
    before = stored(chatbot.generalsettings)
    path = f"/v1/chatbots/chatbot/{chatbot.pk}/settings"
    assert api.put(path, {"description": "new", "customerNameTake": 1}).status_code == 400
    assert stored(chatbot.generalsettings) == before
    change = {"description": "new", "customerNameTake": True}
    with refusing(LeadSettings):
        assert api.put(path, change).status_code == 500
    assert stored(chatbot.generalsettings) == before
    assert api.put(path, change).status_code == 200
    assert stored(chatbot.generalsettings)["description"] == "new"
