"""Request completions from OpenAI-compatible endpoints, with one deadline for all attempts."""

import logging
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache

import orjson
import requests
from django.conf import settings

from chatbots.llm import faults, parsing
from chatbots.llm.exchange import Model, Reply, ReplyFailed, Turn
from chatbots.llm.faults import ModelFault, Remedy
from chatbots.llm.metrics import KEY_NOT_SET
from config.outbound.deadline import left, within
from config.outbound.failures import FAILURES, Reason, explain
from config.outbound.transport import Adapter, pieces

logger = logging.getLogger(__name__)

KEPT = 64  # maximum number of idle connections to one endpoint
PAUSES = (0.5, 1.0)  # seconds before each retry, unless the endpoint sends Retry-After
ERROR_BYTES, ERROR_SECONDS = 16 * 1024, 2.0  # limits for reading the body of an error response


def complete(
    model: Model,
    turns: Sequence[Turn],
    *,
    temperature: float,
    seconds: float,
    pauses: Sequence[float],
) -> Reply:
    """Request a completion within `seconds`. Raises ReplyFailed.

    `pauses` lists the seconds to wait before each retry after a temporary failure. If the endpoint
    rejects the temperature, the request is repeated without it. If the prompt is too long, the
    request is repeated with less history, at most twice.
    """
    warmth = temperature if model.sends_temperature else None
    waits, conversations = iter(pauses), _ever_shorter(turns)
    conversation = next(conversations)
    with within(seconds):
        while True:
            try:
                said = _completion(model, conversation, warmth)
                return Reply(
                    said.text,
                    temperature=warmth,
                    turns_sent=len(conversation),
                    input_tokens=said.input_tokens,
                    output_tokens=said.output_tokens,
                )
            except ModelFault as fault:
                shorter = None
                if fault.remedy is Remedy.LESS_HISTORY:
                    shorter = next(conversations, None)
                if shorter:
                    conversation = shorter
                elif fault.remedy is Remedy.NO_TEMPERATURE and warmth is not None:
                    warmth = None
                    logger.info("model %s rejects the temperature: retrying without it", model.name)
                elif fault.remedy is not Remedy.WAIT or not _waited(fault, next(waits, None)):
                    raise


def _ever_shorter(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    """Yield a conversation with its full history, with the newest quarter of it, and without it."""
    yield turns
    *earlier, question = turns
    system = [turn for turn in earlier if turn.role == "system"]
    history = [turn for turn in earlier if turn.role != "system"]
    if quarter := len(history) // 4:
        yield [*system, *history[-quarter:], question]
    if history:
        yield [*system, question]


def _waited(fault: ModelFault, pause: float | None) -> bool:
    """Wait before a retry. Returns False if there are no retries or no time left."""
    if pause is None:
        return False
    wait = pause if fault.retry_after is None else fault.retry_after
    try:
        in_time = wait < left("before a retry")
    except TimeoutError:
        return False
    if in_time:
        time.sleep(wait)
    return in_time


def _completion(
    model: Model, turns: Sequence[Turn], temperature: float | None
) -> parsing.Completion:
    """Make one request. Raises ReplyFailed, or its subclass ModelFault, which names a remedy."""
    question = {
        "model": model.name,
        "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
    } | ({} if temperature is None else {"temperature": temperature})
    try:
        status, body = _post(model, orjson.dumps(question))
        return parsing.read(body, status)
    except FAILURES as error:
        reason, detail = explain(error)
        if reason == Reason.ANSWER_NOT_UNDERSTOOD:
            detail = ""  # the detail may quote the response
        closed = reason == Reason.CONNECTION_CLOSED
        raise ModelFault(
            f"{reason.label} {detail}".strip(), reason, Remedy.WAIT if closed else Remedy.NONE
        ) from None


@cache
def _adapter() -> Adapter:
    return Adapter(kept=KEPT)


def _post(model: Model, body: bytes) -> tuple[int, bytes]:
    """Send a request and return a successful response's status and body.

    Raises ReplyFailed, or one of FAILURES if the exchange fails.
    """
    with closing(
        _adapter().post(
            f"{model.base_url.rstrip('/')}/chat/completions",
            body=body,
            headers={"Content-Type": "application/json"} | _authorization(model.key_variable),
        )
    ) as response:
        if not 200 <= response.status_code < 300:
            raise faults.refusal(
                response.status_code, _error_body(response), response.headers.get("Retry-After")
            )
        return response.status_code, _body(response, parsing.BYTES)


def _body(response: requests.Response, most: int) -> bytes:
    body = b"".join(pieces(response, most=most + 1))
    if len(body) > most:
        raise ReplyFailed(f"response larger than {most // 1024:,} KiB")
    return body


def _error_body(response: requests.Response) -> bytes:
    try:
        with within(ERROR_SECONDS):
            return _body(response, ERROR_BYTES)
    except (*FAILURES, ReplyFailed):
        return b""


def _authorization(variable: str) -> dict[str, str]:
    if not variable:
        return {}
    key = settings.LLM_KEYS.get(variable, "")
    if not re.fullmatch("[!-~]+", key):
        wrong = f"{variable} must be set to visible ASCII characters without spaces"
        raise ReplyFailed(wrong, KEY_NOT_SET)
    return {"Authorization": f"Bearer {key}"}
