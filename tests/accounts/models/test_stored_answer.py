"""An account keeps its newest stored responses, up to a size limit."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import idempotency
from accounts.models import StoredAnswer
from accounts.models.stored_answer import SMALLEST
from chatbots.models import Chatbot, Instruction
from tests.accounts.posts import INSTRUCTION, instructions
from tests.conftest import caller
from tests.factories.chatbots import ChatbotFactory

pytestmark = pytest.mark.proves("Threads and messages")


@pytest.fixture
def little_room(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> int:
    """Limit the stored bytes per account, and prune after each response. Returns the limit."""
    monkeypatch.setattr(idempotency, "PRUNED_EVERY", 1)
    monkeypatch.setattr(idempotency, "MAX_KEPT", 20 * SMALLEST)
    return 20 * SMALLEST


def end_claims() -> None:
    """Make all claims expire."""
    StoredAnswer.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("length", "kept"), [pytest.param(1, 20, id="small"), pytest.param(5_000, 3, id="large")]
)
def test_an_account_keeps_its_newest_responses_up_to_a_limit(
    little_room: int, chatbot: Chatbot, length: int, kept: int
) -> None:
    path, api = instructions(chatbot), caller(chatbot.account.owner)
    body = INSTRUCTION | {"instruction": "x" * length}
    other = ChatbotFactory()
    caller(other.account.owner).post(instructions(other), INSTRUCTION, Idempotency_Key="other")
    for number in range(25):
        assert api.post(path, body, Idempotency_Key=str(number)).status_code == 200
        end_claims()
    assert StoredAnswer.objects.filter(account=other.account).count() == 1
    answers = StoredAnswer.objects.filter(account=chatbot.account)
    assert answers.count() == kept
    assert sum(max(len(row.body or b""), SMALLEST) for row in answers) <= little_room
    again = [api.post(path, body, Idempotency_Key=key) for key in ("24", "0")]
    assert [answer.status_code for answer in again] == [200, 200]
    # The request with the key "0" ran again, because its response had been pruned
    assert Instruction.objects.filter(chatbot=chatbot).count() == 26
