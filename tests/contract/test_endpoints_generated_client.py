"""A client generated from the OpenAPI document holds a conversation and parses the responses."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import requests

from tests.contract.conftest import Service
from tests.house.source import ROOT

NAME = "client_of_the_document"


@pytest.fixture(scope="module")
def client_package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that contains the generated package. If the generator warns, the test fails."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "generator.yaml").write_text("post_hooks: []\n")
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("openapi-python-client")),
            *("generate", "--fail-on-warning", "--meta", "none"),
            *("--path", str(ROOT / "openapi.json"), "--output-path", str(folder / NAME)),
            *("--config", str(folder / "generator.yaml")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(folder)


@pytest.mark.slow
@pytest.mark.proves("Endpoints")
def test_the_served_document_names_the_address_of_the_service(service: Service) -> None:
    served = requests.get(f"{service.address}/openapi.json", timeout=60).json()
    assert [one["url"] for one in served["servers"]] == [service.address]


class Calls:
    """Calls functions of the generated client with one key. Asserts the type of each response."""

    def __init__(self, service: Service) -> None:
        client = importlib.import_module(NAME)
        self.models = importlib.import_module(f"{NAME}.models")
        self.client = client.AuthenticatedClient(base_url=service.address, token=service.key)

    def __call__(self, tag: str, operation: str, answer: str, *ids: UUID, **options: Any) -> Any:
        module = importlib.import_module(f"{NAME}.api.{tag}.{operation}")
        got = module.sync(*ids, client=self.client, **options)
        assert type(got).__name__ == answer, got
        return got.data if hasattr(got, "data") else got


@pytest.fixture(scope="module")
def call(service: Service, client_package: str) -> Iterator[Calls]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(client_package)
        yield Calls(service)


@pytest.fixture(scope="module")
def account(service: Service) -> UUID:
    return UUID(service.account["accountId"])


@pytest.fixture(scope="module")
def bot(call: Calls, account: UUID) -> UUID:
    wanted = call.models.ChatbotInput(name="Porter", description="opens doors")
    made = call("chatbots", "create_chatbot", "NewChatbotAnswer", account, body=wanted)
    assert isinstance(made.chatbot_id, UUID)
    return made.chatbot_id


@pytest.mark.proves("Chatbots")
def test_a_generated_client_parses_the_lists(call: Calls, account: UUID, bot: UUID) -> None:
    mine = call("chatbots", "list_my_chatbots", "MyChatbotsAnswer")
    assert bot in [one.chatbot_id for each in mine.accounts for one in each.chatbots]
    listed = call("chatbots", "list_account_chatbots", "AccountChatbotsAnswer", account)
    assert bot in [one.chatbot_id for one in listed.chatbots]
    assert call("chatbots", "list_chatbots", "ChatbotPageAnswer", limit=1).pagination.limit == 1


@pytest.mark.proves("Instructions", "Appearance and localization")
def test_a_generated_client_reads_and_changes_settings(call: Calls, bot: UUID) -> None:
    texts = call("localization", "list_localizations", "LocalizationSetsAnswer", bot)
    assert texts.count == len(texts.data) == 1
    color = call.models.AppearanceInput(link_color="#123456")
    call("appearance", "update_appearance", "AppearanceAnswer", bot, body=color)
    seen = call("appearance", "get_appearance", "AppearanceAnswer", bot)
    assert seen.link_color == "#123456"
    order = call.models.InstructionInput(title="Manners", instruction="Be kind.", is_active=True)
    made = call("instructions", "create_instruction", "InstructionAnswer", bot, body=order)
    assert made.is_active is True


@pytest.mark.proves("Threads and messages")
def test_a_generated_client_holds_a_conversation(call: Calls, bot: UUID) -> None:
    models = call.models
    begun = call("threads", "create_thread", "OneThreadAnswer", bot, body=models.ThreadInput())
    thread = begun.thread.id
    said = models.MessageInput(content="Is it open?")
    sent = call("messages", "create_message", "ExchangeAnswer", bot, thread, body=said)
    assert [one.message_type for one in sent.messages] == ["USER_MESSAGE", "AI_MESSAGE"]
    page = call("messages", "list_messages", "HistoryAnswer", bot, thread, limit=1)
    cursor = UUID(page.pagination.next_cursor)
    older = call("messages", "list_messages", "HistoryAnswer", bot, thread, before=cursor)
    assert [one.content for one in older.messages] == ["Is it open?"]
    liked = models.ReactionInput(reaction="POSITIVE")
    answer = call("messages", "update_message", "MessageAnswer", bot, cursor, body=liked)
    assert answer.reaction == "POSITIVE"

    toggled = call("threads", "escalate_thread", "ToggledAnswer", bot, thread)
    assert toggled.thread.escalated is True
    assert toggled.system_message.system_message_type == "CONVERSATION_ESCALATED"
    details = call("threads", "get_thread", "OneThreadDetailsAnswer", bot, thread).thread
    assert details.positive_count == 1
    back = call("threads", "escalate_thread_by_post", "ToggledAnswer", bot, thread)
    assert back.thread.escalated is False


@pytest.mark.proves("Bodies")
def test_a_generated_client_parses_errors(call: Calls, account: UUID, bot: UUID) -> None:
    again = call.models.ChatbotInput(name="Porter", description="opens doors")
    refused = call("chatbots", "create_chatbot", "ValidationError", account, body=again)
    assert refused.errors[0].path == ["name"]
    assert call("threads", "get_thread", "Error", bot, bot).message == "thread not found"
