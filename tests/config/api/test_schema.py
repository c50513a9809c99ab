"""The error codes in the OpenAPI document are those of the error classes."""

import gc
from collections.abc import Iterator

import pytest
from drf_spectacular.generators import SchemaGenerator

from config.api.errors import ApiError, NotFound
from config.api.schema import codes

NOVEL = "FROM_A_NEW_CLASS"


@pytest.fixture(params=[ApiError, NotFound])
def new_class(request: pytest.FixtureRequest) -> Iterator[None]:
    made = [type("Novel", (request.param,), {"code": NOVEL})]
    yield
    made.clear()
    # Garbage-collect the class now. Otherwise, its code could appear in the OpenAPI document in
    # other tests.
    gc.collect()
    assert NOVEL not in codes()


def described() -> str:
    document = SchemaGenerator().get_schema(public=True)
    return str(document["components"]["schemas"]["Error"]["properties"]["code"]["description"])


def test_the_document_names_every_code() -> None:
    assert {"API_KEY_NOT_VALID", "CHATBOT_NOT_FOUND", "MESSAGES_LIMIT_REACHED"} <= codes()
    assert described().endswith(f": {', '.join(sorted(codes()))}.")


@pytest.mark.usefixtures("new_class")
def test_a_new_error_class_appears_in_the_document_automatically() -> None:
    assert NOVEL in described()
