"""The built-in model answers with sentences from the bot's description, or with fixed phrases."""

import pytest

from chatbots.llm.exchange import Model, Turn
from chatbots.llm.fallback import ask
from chatbots.llm.offline import CHATBOT, GOODBYE, MORE, UNCLEAR, UNKNOWN

FACTS = """Shop of the Example company.
You are Ada, a friendly clerk. Always be polite!
Delivery takes two days. It costs 5 euros within Germany.
Returns are free for 30 days: https://shop.example.com/returns.
Opening hours: Monday to Friday, 9 to 17.
See https://shop.example.com/help/ and https://shop.example.com/faq?a=b for help."""


def offline(
    *said: str,
    facts: str = FACTS,
    system: str = "Answer questions about delivery. Speak like a clerk.",
) -> str:
    roles = ("user", "assistant") * len(said)
    turns = [Turn("system", system), *map(Turn, roles, said)]
    return ask(Model("offline"), turns, facts=facts, temperature=1)


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("How long does delivery take?", "Delivery takes two days."),
        ("What do DELIVERIES cost?", "Delivery takes two days. It costs 5 euros within Germany."),
        ("when are you open", "Opening hours: Monday to Friday, 9 to 17."),
        ("Can I return it?", "Returns are free for 30 days: https://shop.example.com/returns."),
    ],
)
def test_it_answers_with_sentences_from_the_facts(question: str, content: str) -> None:
    assert offline(question).content == content


@pytest.mark.parametrize(
    "question",
    [
        "Do you sell green bicycles?",
        "Is Germany sunny?",
        "Who are you, clerk?",
        "Are you friendly and polite?",
        "Tell me your questions",
        "Speak!",
    ],
)
def test_it_says_politely_that_it_does_not_know_and_never_shows_an_instruction(
    question: str,
) -> None:
    assert offline(question).content == UNKNOWN


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Hello!", "Hello! How can I help you?"),
        ("Thank you", "You are welcome! Is there anything else I can help you with?"),
        ("ok.", MORE),
        ("Goodbye!", GOODBYE),
        ("Who are you?", CHATBOT),
        ("are you a real person", CHATBOT),
        ("?", UNCLEAR),
        ("", UNCLEAR),
        ("12345", UNCLEAR),
    ],
)
def test_it_is_polite(said: str, reply: str) -> None:
    assert offline(said).content == reply


def test_it_returns_the_addresses_that_it_quotes_as_sources() -> None:
    assert offline("May I return it?").sources == [
        {"title": "shop.example.com/returns", "url": "https://shop.example.com/returns"}
    ]
    assert [source["url"] for source in offline("help").sources] == [
        "https://shop.example.com/help/",
        "https://shop.example.com/faq?a=b",
    ]
    assert offline("delivery").sources == []
