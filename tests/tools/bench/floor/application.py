"""The floor of the API benchmark: a minimal server that answers six of the API's requests.

The benchmark compares the service's speed with that of the floor. The floor is a plain WSGI
callable, run by granian. It does only what every implementation must do for these requests: hash
the key, check ownership, count the call, read the rows or write them durably, and encode the body.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

import orjson

from tests.tools.bench.floor import answers
from tests.tools.bench.floor.opened import SQL, Refused, counters, store
from tests.tools.bench.floor.sending import send

MINUTE = 60
UNBOUNDED = 2**31 - 1
Wire = dict[str, Any]


def caller(environ: Wire) -> Any:
    """Check the key, and count the call per IP address and per user. Returns the user's id.

    Raises Refused if the key is invalid or a limit is exceeded.
    """
    scheme, _, text = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    found = store.rows(SQL.KEY, sha256(text.encode()).hexdigest(), store.now())
    if scheme != "Bearer" or not found:
        raise Refused("401 Unauthorized")
    [[user]] = found
    calls = counters.count({f"ip:{environ['REMOTE_ADDR']}": 1, f"user:{user}": MINUTE})
    if max(calls) > UNBOUNDED:
        raise Refused("429 Too Many Requests")
    return user


def route(environ: Wire, user: Any) -> Wire:
    """Return the response data for a request. Raises Refused if the path is unknown."""
    match environ["REQUEST_METHOD"], environ["PATH_INFO"].split("/")[3:]:
        case "GET", ["chatting", chatbot, "thread", thread, "messages"]:
            return answers.history(user, chatbot, thread)
        case "GET", ["chatting", chatbot, "threads"]:
            return answers.threads(user, chatbot)
        case "GET", ["chatbots", "my-chatbots"]:
            return answers.my_chatbots(user)
        case "GET", ["chatbots", "chatbot", chatbot, "lead-settings"]:
            return answers.lead_settings(user, chatbot)
        case "PATCH", ["chatbots", "account", account, "chatbot", chatbot]:
            return answers.change(user, account, chatbot, environ["wsgi.input"].read())
        case "POST", ["chatting", chatbot, "thread", thread, "message"]:
            return send(user, chatbot, thread, environ["wsgi.input"].read())
    raise Refused("404 Not Found")


def application(environ: Wire, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Respond to one request. This is the WSGI entry point."""
    try:
        status, data = "200 OK", route(environ, caller(environ))
    except Refused as refusal:
        status, data = str(refusal), {}
    body = orjson.dumps({"statusCode": 200, "success": True, "message": "success", "data": data})
    start_response(
        status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    )
    return [body]
