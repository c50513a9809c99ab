"""Agents on a thread's page see which other agents have it open."""

import pytest

from accounts.models import User
from config.database.ids import new_id
from conversations.services import presence

KIM, SAM = (User(id=new_id(), name=name, email=f"{name}@example.com") for name in ("Kim", "Sam"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    now = {"now": 1_000.0}
    monkeypatch.setattr("conversations.services.presence.time.time", lambda: now["now"])
    return now


def test_the_agents_on_a_page_see_each_other_until_they_leave(clock: dict[str, float]) -> None:
    thread, other = new_id(), new_id()
    assert presence.renew(thread, KIM) == []
    assert presence.renew(thread, SAM) == ["Kim"]
    assert presence.renew(thread, KIM) == ["Sam"]
    assert presence.renew(other, KIM) == []
    clock["now"] += presence.HERE
    assert presence.renew(thread, KIM) == []
