"""The commands for accounts, keys and demo data."""

import io
import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Account, ApiKey, Plan, User
from accounts.permissions import Role
from chatbots.models import Chatbot, LlmModel
from conversations.models import Message, Thread
from tests.conftest import Api
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db

COMMANDS = [
    "create_account",
    "issue_api_key",
    "rotate_api_keys",
    "revoke_api_key",
    "seed_demo",
]


def run(name: str, *words: str) -> str:
    """Run a command as typed; returns its output."""
    said = io.StringIO()
    call_command(name, *words, stdout=said)
    return said.getvalue()


def record(name: str, *words: str) -> Any:
    """Run a command with --json; returns its record, the only output."""
    said = run(name, *words, "--json")
    assert said.count("\n") == 1
    return json.loads(said)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command(name, "--help")
    assert ended.value.code == 0
    assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["create_account"], "required: NAME", id="account without a name"),
        pytest.param(
            ["create_account", "A"], "required: --owner, --plan", id="account without an owner"
        ),
        pytest.param(
            ["create_account", "A", "--owner", "nonsense", "--plan", "Scale"],
            "'nonsense' is not an e-mail address",
            id="invalid e-mail address of the owner",
        ),
        pytest.param(
            ["create_account", " ", "--owner", "a@example.com", "--plan", "Scale"],
            "an account needs a name",
            id="blank account name",
        ),
        pytest.param(
            ["create_account", "x" * 256, "--owner", "a@example.com", "--plan", "Scale"],
            "a name has at most 255 characters",
            id="too long account name",
        ),
        pytest.param(
            ["create_account", "A", "--owner", "a@example.com", "--plan", "Gold"],
            "no plan Gold; there are: Starter, Growth, Scale",
            id="unknown plan",
        ),
        pytest.param(["issue_api_key"], "required: EMAIL", id="key for no person"),
        pytest.param(
            ["issue_api_key", "no@example.com"],
            "no person no@example.com",
            id="key for an unknown person",
        ),
        *(
            pytest.param(
                ["issue_api_key", "a@example.com", "--expires", days],
                f"'{days}' is not a number from 1 to 100000",
                id=f"{days} days",
            )
            for days in ("0", "-1", "x", "1.5", "100001")
        ),
        pytest.param(
            ["rotate_api_keys"], "one of the arguments", id="rotation without a selection"
        ),
        pytest.param(
            ["rotate_api_keys", "--all", "--user", "x"],
            "not allowed",
            id="rotation with two selections",
        ),
        pytest.param(
            ["rotate_api_keys", "--account", "5"], "'5' is not an id", id="malformed account id"
        ),
        pytest.param(
            ["rotate_api_keys", "--account", str(UUID(int=1))], "no account", id="unknown account"
        ),
        pytest.param(
            ["rotate_api_keys", "--user", "no@example.com"], "no person", id="unknown person"
        ),
        *(
            pytest.param(
                ["rotate_api_keys", "--all", "--grace", grace],
                "--grace takes 0 to 8760 hours",
                id=f"a grace of {grace}",
            )
            for grace in ("-1", "8761", "nan", "inf")
        ),
        pytest.param(["revoke_api_key", "cbk_none"], "no API key cbk_none", id="unknown prefix"),
    ],
)
def test_invalid_input_is_reported_and_changes_nothing(words: list[str], message: str) -> None:
    people, accounts = User.objects.count(), Account.objects.count()
    with pytest.raises(CommandError) as refusal:
        run(*words)
    assert message in str(refusal.value)
    assert refusal.value.returncode != 0
    assert (User.objects.count(), Account.objects.count()) == (people, accounts)


class TestCreateAccount:
    """`create_account`."""

    WORDS = ("create_account", "Acme", "--plan", "scale", "--owner")

    def test_it_creates_an_account_with_its_owner(self) -> None:
        made = record(*self.WORDS, "new@example.com")
        account = Account.objects.get()
        assert made == {
            "accountId": str(account.pk),
            "accountName": "Acme",
            "plan": "Scale",
            "ownerId": str(account.owner_id),
            "ownerEmail": "new@example.com",
        }
        assert account.webhooks_enabled
        assert not account.owner.has_usable_password()

    def test_it_finds_a_known_owner_in_any_letter_case(self) -> None:
        known = UserFactory(email="Known@Example.com")
        assert record(*self.WORDS, "known@example.COM")["ownerId"] == str(known.pk)


class TestIssueApiKey:
    """`issue_api_key`."""

    def test_the_key_works_and_is_shown_only_once(self, chatbot: Chatbot) -> None:
        owner = chatbot.account.owner
        made = record("issue_api_key", owner.email.upper(), "--label", "shop", "--expires", "2")
        assert list(made) == ["email", "label", "prefix", "apiKey", "expiresAt"]
        assert Api(made["apiKey"]).get("/v1/chatbots").status_code == 200
        assert ApiKey.objects.get().label == "shop"
        assert made["expiresAt"] is not None

    def test_the_output_for_people_is_plain_lines(self) -> None:
        user = UserFactory()
        said = run("issue_api_key", user.email)
        assert f"email: {user.email}\n" in said
        assert "apiKey: cbk_" in said
        assert "expiresAt: -\n" in said


class TestRotateApiKeys:
    """`rotate_api_keys`."""

    @pytest.fixture
    def people(self) -> dict[str, Any]:
        account = AccountFactory()
        member = MembershipFactory(account=account).user
        return {
            "account": account,
            "owner": account.owner,
            "member": member,
            "other": UserFactory(),
        }

    @pytest.mark.parametrize(
        ("words", "whose"),
        [
            (["--user", "{owner.email}"], {"owner"}),
            (["--account", "{account.pk}"], {"owner", "member"}),
            (["--all"], {"owner", "member", "other"}),
        ],
    )
    def test_only_the_selected_keys_are_rotated(
        self, people: dict[str, Any], words: list[str], whose: set[str]
    ) -> None:
        persons = ("owner", "member", "other")
        old = {name: record("issue_api_key", people[name].email)["apiKey"] for name in persons}
        made = record("rotate_api_keys", *[word.format(**people) for word in words])
        assert {each["email"] for each in made} == {people[name].email for name in whose}
        assert all(Api(each["apiKey"]).get("/v1/chatbots").status_code == 200 for each in made)
        ended = {name for name in persons if Api(old[name]).get("/v1/chatbots").status_code == 401}
        assert ended == whose

    @pytest.mark.parametrize(
        ("second", "old_key"), [("24", 200), ("0", 401)], ids=["as long a grace", "none"]
    )
    def test_a_second_rotation_does_not_double_the_keys(
        self, people: dict[str, Any], second: str, old_key: int
    ) -> None:
        old = record("issue_api_key", people["owner"].email, "--expires", "30")["apiKey"]
        words = ("rotate_api_keys", "--user", people["owner"].email, "--grace")
        [first] = record(*words, "24")
        [newest] = record(*words, second)
        answers = [
            Api(key).get("/v1/chatbots").status_code
            for key in (old, first["apiKey"], newest["apiKey"])
        ]
        assert answers == [old_key, old_key, 200]
        assert len(record(*words, "24")) == 1

    def test_an_owner_who_is_also_a_member_gets_one_new_key(self, people: dict[str, Any]) -> None:
        MembershipFactory(account=people["account"], user=people["owner"])
        record("issue_api_key", people["owner"].email)
        made = record("rotate_api_keys", "--account", str(people["account"].pk), "--grace", "1")
        assert len(made) == 1


def test_a_key_is_revoked_by_its_prefix() -> None:
    made = record("issue_api_key", UserFactory().email)
    ended = record("revoke_api_key", made["prefix"])
    assert list(ended) == ["prefix", "revokedAt"]
    assert Api(made["apiKey"]).get("/v1/chatbots").status_code == 401


class TestSeedDemo:
    """`seed_demo`."""

    CHATBOT = {
        "chatbotId",
        "name",
        "instructionIds",
        "personaIds",
        "followUpPromptIds",
        "localeCodes",
        "threads",
    }
    USER = {"userId", "email", "role", "permissions", "apiKey", "chatbotIds"}

    @pytest.fixture
    def seeded(self, default_model: LlmModel) -> Any:
        return record("seed_demo")

    def test_it_has_exactly_the_documented_shape(self, seeded: Any) -> None:
        assert list(seeded) == [
            "baseUrl",
            "adminUrl",
            "adminEmail",
            "adminPassword",
            "llmModels",
            "accounts",
        ]
        assert seeded["baseUrl"] == "http://127.0.0.1:8000/api"
        assert seeded["adminUrl"] == "http://127.0.0.1:8000/admin/"
        assert [set(model) for model in seeded["llmModels"]] == [
            {"id", "provider", "title", "isActive"}
        ] * len(seeded["llmModels"])
        assert {model["isActive"] for model in seeded["llmModels"]} == {True, False}
        for account in seeded["accounts"]:
            assert list(account) == ["accountId", "accountName", "plan", "users", "chatbots"]
            assert all(set(user) == self.USER for user in account["users"])
            assert all(set(chatbot) == self.CHATBOT for chatbot in account["chatbots"])

    def test_it_contains_people_of_every_role(self, seeded: Any) -> None:
        first, second = seeded["accounts"]
        shop = first["chatbots"][0]["chatbotId"]
        assert (first["plan"], second["plan"]) == ("Scale", "Starter")
        assert [(u["role"], u["permissions"], u["chatbotIds"]) for u in first["users"]] == [
            (Role.OWNER, [], []),
            (Role.SUPER_ADMIN, [], []),
            (Role.MEMBER, [], [shop]),
            (Role.MEMBER, ["CHATBOT_VIEW"], []),
        ]
        assert [u["role"] for u in second["users"]] == [Role.OWNER]

    def test_its_chatbots_can_be_used_immediately(self, seeded: Any) -> None:
        first, second = seeded["accounts"]
        assert (len(first["chatbots"]), len(second["chatbots"])) == (2, 1)
        for chatbot in first["chatbots"]:
            assert (len(chatbot["instructionIds"]), len(chatbot["personaIds"])) == (2, 1)
            assert all(map(UUID, chatbot["followUpPromptIds"].values()))
            assert sorted(chatbot["followUpPromptIds"]) == ["button", "link"]
            assert chatbot["localeCodes"] == ["en", "de"]
            [thread] = chatbot["threads"]
            assert thread["messageCount"] == 45
            owner = Api(first["users"][0]["apiKey"])
            path = f"/v1/chatting/{chatbot['chatbotId']}/thread/{thread['threadId']}"
            details = owner.get(path).json()["data"]["thread"]
            assert details["visitorId"] == thread["visitorId"]

    def test_a_second_run_finds_everything_and_creates_new_secrets(self, seeded: Any) -> None:
        def counted() -> list[int]:
            return [m.objects.count() for m in (User, Account, Chatbot, Thread, Message, LlmModel)]

        before, again = counted(), record("seed_demo")
        assert counted() == before

        def lasting(value: Any) -> Any:
            if isinstance(value, dict):
                secret = {"apiKey", "adminPassword"}
                return {name: lasting(part) for name, part in value.items() if name not in secret}
            return [lasting(part) for part in value] if isinstance(value, list) else value

        assert lasting(again) == lasting(seeded)
        assert again["adminPassword"] != seeded["adminPassword"]
        old, new = (each["accounts"][0]["users"][0]["apiKey"] for each in (seeded, again))
        statuses = [Api(key).get("/v1/chatbots").status_code for key in (old, new)]
        assert statuses == [401, 200]
        admin = User.objects.get(email=again["adminEmail"])
        assert admin.check_password(again["adminPassword"])

    def test_the_output_for_people_lists_the_keys(self, default_model: LlmModel) -> None:
        said = run("seed_demo")
        assert said.count("cbk_") == 5
        assert Plan.objects.count() == 3
