from typing import Any

import orjson
import pytest

from chatbots.llm.faults import Remedy, refusal, seconds

SECRET = "sk-canary-0123456789"


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (401, {"error": {"message": SECRET, "code": "invalid_api_key"}}, "401 (invalid_api_key)"),
        (404, {"error": {"type": "NotFoundError", "code": 404}}, "404 (NotFoundError)"),
        (400, {"object": "error", "type": "BadRequestError", "code": 400}, "400 (BadRequestError)"),
        (422, {"error": "Input validation error", "error_type": "validation"}, "422 (validation)"),
        (400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT"}}], "400 (INVALID_ARGUMENT)"),
        (429, {"error": {"code": "1113"}}, "429 (1113)"),
        (401, {"error": {"code": SECRET, "type": None}}, "401"),
        (401, {"error": {"code": "x" * 51, "type": ["a"]}}, "401"),
        (500, {"error": None}, "500"),
        (500, [], "500"),
        (500, 7, "500"),
    ],
)
def test_a_rejection_gives_the_code_or_the_type_but_never_the_text(
    status: int, body: Any, reason: str
) -> None:
    assert refusal(status, orjson.dumps(body)).reason == f"the model's endpoint answered {reason}"


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe", b"[" * 10_000])
def test_a_rejection_without_json_gives_its_status(body: Any) -> None:
    assert refusal(502, body).reason == "the model's endpoint answered 502"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000."),
        (400, '"code": "context_length_exceeded"'),
        (400, '"type": "exceed_context_size_error"'),
        (400, "litellm.ContextWindowExceededError: litellm.BadRequestError"),
        (400, "prompt is too long: 208310 tokens > 200000 maximum"),
        (400, "This model's maximum prompt length is 131072 but the request contains 200000"),
        (400, "The input token count exceeds the maximum number of tokens allowed (1048575)."),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"),
        (500, "the request exceeds the available context size"),
        (413, "Request Entity Too Large"),
    ],
)
def test_a_prompt_that_is_too_long_is_recognized_in_the_errors_of_many_servers(
    status: int, text: str
) -> None:
    assert refusal(status, text.encode()).remedy is Remedy.LESS_HISTORY


@pytest.mark.parametrize(
    ("status", "body", "remedy"),
    [
        (400, {"param": "temperature"}, Remedy.NO_TEMPERATURE),
        (400, {"message": "'temperature' does not support 0.5"}, Remedy.NO_TEMPERATURE),
        (429, {"code": "rate_limit_exceeded"}, Remedy.WAIT),
        (429, {"code": "insufficient_quota"}, Remedy.NONE),
        (500, {}, Remedy.WAIT),
        (503, {}, Remedy.WAIT),
        (401, {}, Remedy.NONE),
        (404, {"code": "model_not_found"}, Remedy.NONE),
    ],
)
def test_the_remedy_follows_from_the_status_and_the_error(
    status: int, body: Any, remedy: Remedy
) -> None:
    assert refusal(status, orjson.dumps({"error": body})).remedy is remedy


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("1", 1),
        ("0.25", 0.25),
        ("-5", 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_of_seconds(header: str | None, wait: float | None) -> None:
    assert seconds(header) == wait
