"""The built-in model answers with sentences from the bot's description, or with fixed phrases."""

import pytest

from chatbots.llm.exchange import Model, Turn
from chatbots.llm.fallback import ask
from chatbots.llm.offline import CHATBOT, GOODBYE, MORE, UNCLEAR, UNKNOWN
from conversations import demo

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
    "order",
    [
        "You are Ada, who knows all about parking.",
        "your job is parking.",
        "- Answer questions about parking.",
        "Please don't mention parking!",
        "Never talk about parking.",
    ],
)
def test_a_sentence_that_instructs_the_bot_is_not_quoted(order: str) -> None:
    facts = f"We have a garden. {order}\nWe have 20 places for cars."
    assert offline("Is there parking?", facts=facts).content == "We have 20 places for cars."


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


@pytest.mark.parametrize(
    ("facts", "question", "part"),
    [
        (demo.SHOP_FACTS, "When do you open?", "We are open Monday to Friday from 9:00"),
        (demo.SHOP_FACTS, "Are you open on Sundays?", "We are closed"),
        (demo.SHOP_FACTS, "Where are you?", "12 Harbor Street"),
        (demo.SHOP_FACTS, "Do you deliver on Saturdays?", "from Monday to Saturday"),
        (demo.SHOP_FACTS, "How much is shipping?", "4.90 euros"),
        (demo.SHOP_FACTS, "Where is my order?", "You can track your order"),
        (demo.SHOP_FACTS, "Can I get my money back?", "within 30 days"),
        (demo.SHOP_FACTS, "Do you take PayPal?", "You can pay by card, with PayPal"),
        (demo.SHOP_FACTS, "Can I park my car?", "parking lot behind the shop"),
        (demo.SHOP_FACTS, "How can I contact you?", "555 0100"),
        (demo.SHOP_FACTS, "Hi, is the shop open tomorrow?", "We are open Monday to Friday"),
        (demo.SHOP_FACTS, "Is delivery free?", "is free for orders above 40 euros"),
        (demo.SHOP_FACTS, "My parcel hasn't arrived yet", "Delivery takes one to two days"),
        (demo.SHOP_FACTS, "I want to cancel my order", "We can cancel an order"),
        (demo.SHOP_FACTS, "What do you sell?", "cookware"),
        (demo.HELP_DESK_FACTS, "I need a new monitor", UNKNOWN),
        (demo.HELP_DESK_FACTS, "How do I reset my password?", "Forgot password"),
        (demo.HELP_DESK_FACTS, "When do you open?", "Monday to Friday from 8:00"),
        (demo.HELP_DESK_FACTS, "I forgot my password", "Forgot password"),
        (demo.TABLE_FACTS, "When do you open?", "Tuesday to Sunday"),
        (demo.TABLE_FACTS, "Do you have a table for four tonight?", "You can reserve a table"),
        (demo.TABLE_FACTS, "Can I book a table for two?", "You can reserve a table"),
        (demo.TABLE_FACTS, "Is there something gluten free?", "without gluten or nuts"),
        (demo.TABLE_FACTS, "Do you do takeaway?", "You can order takeout"),
        (demo.TABLE_FACTS, "How can I reach you by phone?", "555 0102 or write to"),
        (demo.TABLE_FACTS, "Is there anything vegan?", "five vegan dishes"),
        (demo.TABLE_FACTS, "I have a nut allergy", "without gluten or nuts"),
        (demo.TABLE_FACTS, "Is there parking?", "parking garage under Market Square"),
        (demo.TABLE_FACTS, "Can I bring my dog?", "Dogs are welcome"),
    ],
)
def test_the_demo_chatbots_can_answer_their_visitors_questions(
    facts: str, question: str, part: str
) -> None:
    assert part in offline(question, facts=facts).content
