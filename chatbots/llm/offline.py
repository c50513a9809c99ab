"""The built-in model: it quotes a bot's own settings, and says so where they hold nothing.

Deterministic and without a network, so that a new installation, a demo and a test have replies.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from chatbots.llm.turns import Reply, Turn

QUOTED = 2  # sentences of an answer
SENTENCE_LENGTH = 300
TOPICS = 3
STEM = 4  # letters that make two words one: "delivery" and "deliveries", "open" and "opening"

WORD = re.compile(r"[^\W\d_]{3,30}")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
URL = re.compile(r"https?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:!?]")
GREETING = re.compile(r"\W*(hello|hi|hey|hallo|good (morning|day|evening))\b", re.IGNORECASE)
THANKS = re.compile(r"\W*(thanks|thank you|thx|danke)\b", re.IGNORECASE)
ORDINARY = frozenset(
    WORD.findall(
        """
        about all also and any are ask been but can could did does for from get give good had has
        hallo have hello here hey how into its just know let like many may much need not now our
        out please say she should some such tell than thank thanks that the their them then there
        these they this those want was were what when where which who why will with would you your
        """
    )
)


def answer(turns: Sequence[Turn]) -> Reply:
    """Answer the last question of a conversation out of its system message."""
    asked = next((turn.content for turn in reversed(turns) if turn.role == "user"), "")
    topics = _topics(asked)
    if not topics:
        return Reply(_courtesy(asked))
    named = _listed(topics[:TOPICS])
    known = "\n".join(turn.content for turn in turns if turn.role == "system")
    if quotes := _fitting(known, topics):
        return Reply(f"You asked about {named}. {' '.join(quotes)}", _sources(quotes))
    return Reply(
        f"I understood that you ask about {named}, but I was told nothing about it. "
        "A member of our team can help you further."
    )


def _courtesy(asked: str) -> str:
    if GREETING.match(asked):
        return "Hello! What would you like to know?"
    if THANKS.match(asked):
        return "You are welcome! Is there anything else?"
    return "I did not understand that. Could you put it in other words?"


def _topics(text: str) -> list[str]:
    words = (word for word in WORD.findall(text) if word.lower() not in ORDINARY)
    return list({_stem(word): word for word in words}.values())


def _stem(word: str) -> str:
    return word.lower()[:STEM]


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _fitting(known: str, topics: Sequence[str]) -> list[str]:
    """Pick the sentences that name most of the topics, in the order in which they stand."""
    stems = {_stem(topic) for topic in topics}
    sentences = dict.fromkeys(part.strip() for part in SENTENCE.split(known))
    hits = {
        sentence: len(stems & {_stem(word) for word in WORD.findall(sentence)})
        for sentence in sentences
    }
    best = sorted(filter(hits.get, hits), key=lambda sentence: -hits[sentence])[:QUOTED]
    return [sentence[:SENTENCE_LENGTH] for sentence in sentences if sentence in best]


def _sources(quotes: Sequence[str]) -> list[dict[str, str]]:
    urls = dict.fromkeys(url for quote in quotes for url in URL.findall(quote))
    return [{"title": _title(url), "url": url} for url in urls]


def _title(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # text that only looks like an address
        return url
    return f"{parts.netloc}{parts.path}".rstrip("/")
