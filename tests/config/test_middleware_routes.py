"""The fast lookup of API paths finds the same views as Django's resolver."""

import pytest
from django.urls import Resolver404, resolve

from config.middleware import find
from tests.contract.operations import OPERATIONS

KNOWN = sorted({f"/api{operation.path}" for operation in OPERATIONS})
OTHER = [
    *(f"{path}/" for path in KNOWN),
    *("", "/", "/api", "/api/", "/api/v1", "/api/v1//chatbots", "/apiv1/chatbots"),
    *("/api/v1/chatbots\n", "/api/v1/chatting//threads", "/healthz", "/admin/login/"),
]


@pytest.mark.parametrize("path", KNOWN)
def test_a_known_path_has_the_view_names_and_route_of_django(path: str) -> None:
    found, expected = find(path), resolve(path)
    assert found is not None
    assert (found.view, found.names) == (expected.func, expected.kwargs)
    assert found.route == expected.route


@pytest.mark.parametrize("path", OTHER, ids=repr)
def test_any_other_path_is_left_to_django(path: str) -> None:
    assert find(path) is None
    if path.startswith("/api/"):
        with pytest.raises(Resolver404):
            resolve(path)
