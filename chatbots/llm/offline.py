"""The built-in model, which answers from a bot's facts or says that it does not know.

It is deterministic and needs no network, so new installations, demos and tests get replies.
The facts are the sentences of the general description, except those that tell the bot what to do.
Instructions and personas tell other models how to speak. This model has its own phrases and never
quotes an instruction or a persona.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from chatbots.llm.exchange import Reply

QUOTED = 2  # the maximum number of sentences in an answer
SENTENCE_LENGTH = 300
STEM = 4  # number of first letters that words must share to match; shorter words must be equal
KNOWN_WEIGHT = 2  # weight of a known subject; any other word weighs 1

UNKNOWN = "I am sorry, I do not know that. A member of our team will be glad to help you."
UNCLEAR = "I am sorry, I did not understand that. Could you put it another way?"
WELCOME = "Hello! How can I help you?"
MORE = "Is there anything else I can help you with?"
THANKED = f"You are welcome! {MORE}"
GOODBYE = "Goodbye! Come back any time."
CHATBOT = "I am a chatbot. I answer common questions, and our team answers everything else."

WORD = re.compile(r"[^\W\d_]{3,30}")
SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")
URL = re.compile(r"https?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:!?]")
# The following patterns match whole messages
REMARK = re.compile(
    r"\W*(all right|alright|cool|fine|good|great|no|nope|ok|okay|perfect|yes)\W*", re.IGNORECASE
)
FAREWELL = re.compile(
    r"\W*(bye( bye)?|goodbye|ciao|see you( soon)?|have a (nice|good) (day|evening))\W*",
    re.IGNORECASE,
)
IDENTITY = re.compile(
    r"\W*((who|what) are you"
    r"|are you an? (real )?(ai|bot|chatbot|human|machine|person|robot))\W*",
    re.IGNORECASE,
)
# The following patterns match the beginning of a message, and apply only if it has no topic
GREETING = re.compile(r"\W*(hello|hi|hey|hallo|good (morning|day|evening))\b", re.IGNORECASE)
THANKS = re.compile(r"\W*(thanks|thank you|thx|danke)\b", re.IGNORECASE)
REMARKS = ((REMARK, MORE), (FAREWELL, GOODBYE), (IDENTITY, CHATBOT))
OPENINGS = ((GREETING, WELCOME), (THANKS, THANKED))
# Matches the beginning of sentences that tell a bot what to do. Such sentences belong in an
# instruction, but are often written into the description.
ORDER = re.compile(
    r"\W*(please )?(you are|you're|you (must|should|will|shall|act|answer|speak|help)"
    r"|your (name|job|role|task|goal|tone|answers?) |act|always|answer|avoid|be|behave|do not"
    r"|don't|explain|greet|keep (it|your|answers|replies)|mention|never|pretend|recommend|refuse"
    r"|reply|respond|sell|speak (like|as|in)|stay|suggest|tell|use (a|the) \w{1,30} tone)\b",
    re.IGNORECASE,
)
ORDINARY = frozenset(
    WORD.findall(
        """
        about after all also and any are ask been before but can could did didn does doesn eight
        find five for four from get give good had has hasn hallo have haven hello here hey how into
        isn its just know let like long many may much need nine not now one our out please say seven
        she should six some such tell ten than thank thanks that the their them then there these
        they this those three time today tomorrow tonight two want was were what when where which
        who why will with would yet you your
        """
    )
)
# Subjects that visitors to shops and restaurants ask about. The words on a line form one subject,
# whose name is the first word. Words of four or more letters also match all words that begin with
# them.
SUBJECTS = (
    "open clos hours",
    "address locat direction map",
    "deliver ship dispatch parcel courier",
    "return refund exchang money",
    "pay pays paid payment card cash invoice paypal",
    "cost price pricing expensive cheap fee fees",
    "reserv book table",
    "vegetarian vegan",
    "allerg gluten lactose nut nuts",
    "park car cars",
    "contact call phone telephone mail email human person agent",
    "child kids highchair",
    "dog dogs pet pets",
    "gift voucher",
    "takeaway takeout",
    "password login",
)
PLACE, PRICE = "address", "cost"
# With these subjects, "free" means free of charge. A "free table" is an available one.
MAY_BE_FREE = {"deliver", "park", "return"}
SUBJECT_OF = {word: line.split()[0] for line in SUBJECTS for word in line.split()}


def answer(question: str, facts: str) -> Reply:
    """Answer a question from facts. The sources are the URLs in the quoted sentences."""
    for pattern, reply in REMARKS:
        if pattern.fullmatch(question):
            return Reply(reply)
    topics = _topics(question)
    if not topics:
        courtesy = (reply for pattern, reply in OPENINGS if pattern.match(question))
        return Reply(next(courtesy, UNCLEAR))
    quotes = _fitting(_known(facts), topics)
    return Reply(" ".join(quotes), _sources(quotes)) if quotes else Reply(UNKNOWN)


def _topic(word: str) -> str:
    """Reduce a word to its subject, or to its first STEM letters if it has no subject."""
    beginnings = (word[:size] for size in range(len(word), min(len(word), STEM) - 1, -1))
    found = (SUBJECT_OF[part] for part in beginnings if part in SUBJECT_OF)
    return next(found, word[:STEM])


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def _topics(question: str) -> set[str]:
    """Return what a question is about: known subjects, and the stems of other words."""
    words = _words(question)
    topics = {_topic(word) for word in words if word not in ORDINARY}
    if "how much" in question.lower() or ("free" in words and topics & MAY_BE_FREE):
        topics.add(PRICE)
    # "Where do you deliver?" asks about delivery, but "Where are you?" asks about the address
    return topics or ({PLACE} if "where" in words else set())


def _weight(topics: set[str]) -> int:
    """Return the total weight of topics: KNOWN_WEIGHT per known subject, and 1 per other word."""
    return len(topics) + (KNOWN_WEIGHT - 1) * len(topics.intersection(SUBJECT_OF.values()))


def _sentences(facts: str) -> list[str]:
    """Split facts into distinct sentences, in linear time. Drops instructions to the bot."""
    parts = (part for line in facts.splitlines() for part in SENTENCE_ENDS.split(line.strip()))
    return [part for part in dict.fromkeys(parts) if part and not ORDER.match(part)]


@lru_cache(200)
def _known(facts: str) -> dict[str, set[str]]:
    """Return the topics of each sentence. They are cached, because a bot's facts seldom change."""
    return {sentence: {_topic(word) for word in _words(sentence)} for sentence in _sentences(facts)}


def _fitting(known: Mapping[str, set[str]], topics: set[str]) -> list[str]:
    """Choose up to QUOTED sentences that best fit the question, in their original order.

    A sentence qualifies if it mentions a known subject of the question, or topics that make up more
    than half of the question's weight. The best sentences are the ones whose shared topics weigh
    the most and, if several are equal, the ones among them that mention the fewest known subjects.
    """
    subjects, enough = set(SUBJECT_OF.values()), _weight(topics) / 2
    fits: dict[str, tuple[int, int]] = {}
    for sentence, about in known.items():
        shared = about & topics
        weight = _weight(shared)
        if weight and (shared & subjects or weight > enough):
            fits[sentence] = (weight, -len(about & subjects))
    best = max(fits.values(), default=None)
    quotes = [sentence[:SENTENCE_LENGTH] for sentence, fit in fits.items() if fit == best]
    return quotes[:QUOTED]


def _sources(quotes: Sequence[str]) -> list[dict[str, str]]:
    urls = dict.fromkeys(url for quote in quotes for url in URL.findall(quote))
    return [{"title": _title(url), "url": url} for url in urls]


def _title(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # text that only looks like a URL
        return url
    return f"{parts.netloc}{parts.path}".rstrip("/")
