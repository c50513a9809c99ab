"""`anonymous`: as given, until the visitor's contact is added or removed."""

from typing import Any

import pytest

from tests.conftest import Api

pytestmark = pytest.mark.proves("Threads and messages", "Thread")


def begin(api: Api, base: str, **given: Any) -> Any:
    return api.post(f"{base}/threads", {"visitorId": "v"} | given).json()["data"]["thread"]


def update(api: Api, base: str, thread: Any, **given: Any) -> bool:
    body = {"threadId": thread["id"]} | given
    answer = api.patch(f"{base}/thread/update-thread", body).json()["data"]["thread"]
    here = f"{base}/thread/{thread['id']}"
    shown = {
        answer["anonymous"],
        api.get(here).json()["data"]["thread"]["anonymous"],
        api.get(f"{here}/messages").json()["data"]["thread"]["anonymous"],
    }
    assert len(shown) == 1
    return shown.pop()


def test_contact_ends_anonymity_and_withdrawn_contact_restores_it(api: Api, base: str) -> None:
    thread = begin(api, base)
    other = begin(api, base)
    assert (thread["anonymous"], other["anonymous"]) == (True, True)
    for given, anonymous in (
        ({"visitorName": "Anna"}, True),
        ({"visitorEmail": "  "}, True),
        ({"visitorPhone": "030"}, False),
        ({"visitorEmail": "a@b.c"}, False),
        ({"visitorPhone": ""}, False),
        ({"visitorEmail": " \n"}, True),
    ):
        assert update(api, base, thread, **given) is anonymous, given
        assert update(api, base, other) is anonymous, "the visitor's other thread"


@pytest.mark.parametrize("given", [True, False])
def test_the_given_value_holds_until_the_contact_changes(api: Api, base: str, given: bool) -> None:
    contact = {"visitorEmail": "a@b.c"} if given else {}
    thread = begin(api, base, anonymous=given, **contact)
    assert thread["anonymous"] is given
    assert update(api, base, thread, title="new", visitorName="Anna") is given
    changed = {"visitorEmail": "" if given else "a@b.c"}
    update(api, base, thread, **changed)
    assert update(api, base, thread, visitorEmail="a@b.c") is False


def test_white_space_does_not_identify_a_visitor(api: Api, base: str) -> None:
    thread = begin(api, base, visitorEmail="  ", visitorPhone="\t")
    details = api.get(f"{base}/thread/{thread['id']}").json()["data"]["thread"]
    assert (details["visitorEmail"], details["visitorPhoneNumber"]) == ("  ", "\t")
    assert (details["visitorIsIdentified"], details["anonymous"]) == (False, True)
