"""A running service, for tests that use only HTTP and the OpenAPI document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from tests.servers.installation import Installation


@dataclass
class Service:
    """A running installation. `data` describes the demo data, as printed by `seed_demo --json`."""

    address: str
    data: dict[str, Any]

    @property
    def account(self) -> dict[str, Any]:
        return self.data["accounts"][0]

    @property
    def key(self) -> str:
        """A key of the account's owner."""
        return self.account["users"][0]["apiKey"]

    def ids(self) -> dict[str, str]:
        """Return the ids of existing rows, keyed by their names in paths and bodies."""
        bot = self.account["chatbots"][0]
        thread = bot["threads"][0]["threadId"]
        history = requests.get(
            f"{self.address}/api/v1/chatting/{bot['chatbotId']}/thread/{thread}/messages",
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=60,
        )
        return {
            "accountId": self.account["accountId"],
            "chatbotId": bot["chatbotId"],
            "otherChatbotId": self.account["chatbots"][1]["chatbotId"],
            "threadId": thread,
            "messageId": history.json()["data"]["messages"][0]["id"],
            "instructionId": bot["instructionIds"][0],
            "personaId": bot["personaIds"][0],
            "followUpPromptId": bot["followUpPromptIds"]["button"],
            "llmModelId": self.data["llmModels"][0]["id"],
        }


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The processes of `make run`, with the demo data and without rate limits."""
    with Installation(tmp_path_factory.mktemp("service")) as made:
        made.environment |= {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"}
        made.command("migrate", "-v0")
        data = made.command("seed_demo", "--json")
        made.start()
        yield Service(made.address, data)
