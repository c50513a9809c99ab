"""Comments, documents, messages and pages avoid words that make English hard to read."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.source import PACKAGES, ROOT, files, modules, place

AVOIDED = (
    *("whoever", "whom", "nobody", "whatsoever", "he or she", "his or her", "in vain"),
    *("is none", "are none", "ceases to", "ceased to", "is handed", "not any more"),
    *("somebody", "anew", "afresh", "ends to", "from then on"),
    *("thus", "hence", "in order to", "utilize", "leverage"),
    *("colour", "colours", "behaviour", "neighbour", "neighbours", "labelled"),  # British
)
GENERATED = {"docs/conformance.md"}
BUILD_FILES = ("Makefile", "Dockerfile", "compose.yaml", ".ci/run")
AS_DESIGNED = {"Nobody is waiting."}  # shown in an inbox where no visitor is waiting
SHORTEST = 3  # minimum number of words in a text; shorter strings are names, states and keys
MARKUP = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#|#\}|<[^<>]*>", re.DOTALL)
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# Only the first letter of a word or phrase may be uppercase, so `is None` is not found. "There is
# none" is idiomatic, so it is accepted. At the end of a phrase, `alone` nearly always means "only".
# NOT_PROSE contains the exceptions.
PATTERNS = [f"[{word[0]}{word[0].upper()}]" + word[1:].replace(" ", r"\s+") for word in AVOIDED]
WORD = re.compile(rf"\b(?<![Tt]here )(?:{'|'.join(PATTERNS)})\b|\b[Aa]lone(?=[.,;:!?)\]])")
# The name of a test is a sentence whose subject is a noun, so it must not begin with these words.
NO_SUBJECT = re.compile(r"(?:what|who|whose|where|whatever|whether|of|ones own|that)\b")
NOT_PROSE = re.compile(
    r"^ *```.*?^ *```"  # a fenced block
    r"|`(?:[^`\n]|\n(?!\s*\n))*`"  # inline code, which may wrap but may not span paragraphs
    r"|\b(?:[Ll]et|[Ll]eaves?|[Ll]eaving|[Ll]eft)(?:\s+\w+){0,2}\s+alone\b",
    re.MULTILINE | re.DOTALL,
)


def avoided(text: str, *, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield each word or phrase to avoid, with its line number. A phrase may wrap."""
    prose = NOT_PROSE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for found in WORD.finditer(prose):
        line = first_line + prose.count("\n", 0, found.start())
        yield line, " ".join(found[0].lower().split())


def passages(source: str) -> Iterator[tuple[int, str]]:
    """Yield each docstring and each block of comments in a module, with its first line number.

    Comments on consecutive lines are one block, because a phrase may wrap.
    """
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node, clean=False) is not None
    }
    begun, block = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING and token.start in docstrings:
            yield token.start[0], token.string
        elif token.type == tokenize.COMMENT:
            if token.start[0] != begun + len(block):
                yield begun, "\n".join(block)
                begun, block = token.start[0], []
            block.append(token.string.lstrip("#"))
    yield begun, "\n".join(block)


def avoided_in_python(source: str) -> list[tuple[int, str]]:
    """Find words to avoid in a module's comments and docstrings, with their line numbers."""
    return sorted(
        found for line, text in passages(source) for found in avoided(text, first_line=line)
    )


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield a module's strings of at least SHORTEST words, with their line numbers.

    These are help texts, labels, messages, log lines and emails. Docstrings are left out.
    """
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node) is not None
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            long_enough = len(node.value.split()) >= SHORTEST and node.value not in AS_DESIGNED
            if long_enough and id(node) not in docstrings:
                yield node.lineno, node.value


def avoided_in_texts(source: str) -> list[tuple[int, str]]:
    """Find words to avoid in a module's strings, with the line numbers where the strings start."""
    return sorted(
        (line, word) for line, text in texts(source) for _, word in avoided(text, first_line=line)
    )


def avoided_in_template(source: str) -> list[tuple[int, str]]:
    """Find words to avoid in a template's text, with their line numbers. Markup is skipped."""
    return list(avoided(MARKUP.sub(lambda mark: re.sub(r"[^\n]", " ", mark[0]), source)))


def names_of_tests(source: str) -> Iterator[tuple[int, str]]:
    """Yield the names of tests, split into words, and the ids of cases, with their line numbers."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ")
        elif isinstance(node, ast.keyword) and node.arg in ("id", "ids"):
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def avoided_in_names(source: str) -> list[tuple[int, str]]:
    """Find names that contain a word to avoid or match NO_SUBJECT, with their line numbers."""
    return sorted(
        (line, name)
        for line, name in names_of_tests(source)
        if list(avoided(f"{name}.")) or NO_SUBJECT.match(name)
    )


def documents() -> list[Path]:
    """List the documents that are not generated."""
    found = [ROOT / "README.md", *files(ROOT / "docs")]
    return [path for path in found if path.suffix == ".md" and place(path) not in GENERATED]


def test_comments_docstrings_and_documents_are_in_plain_english() -> None:
    found = [
        f"{place(path)}:{line}: {word}"
        for path in modules(*PACKAGES, "tests")
        for line, word in avoided_in_python(path.read_text())
    ]
    found += [
        f"{place(path)}:{line}: {word}"
        for path in documents()
        for line, word in avoided(path.read_text())
    ]
    assert not found, "words to avoid:\n" + "\n".join(found)


def test_texts_of_pages_messages_and_commands_are_in_plain_english() -> None:
    found = [
        f"{place(path)}:{line}: {word}"
        for path in modules(*PACKAGES)
        for line, word in avoided_in_texts(path.read_text())
    ]
    found += [
        f"{place(path)}:{line}: {word}"
        for path in files(ROOT / "templates")
        for line, word in avoided_in_template(path.read_text())
    ]
    found += [
        f"{name}:{line}: {word}"
        for name in BUILD_FILES
        for line, word in avoided((ROOT / name).read_text())
    ]
    assert not found, "words to avoid:\n" + "\n".join(found)


def test_names_of_tests_are_in_plain_english() -> None:
    found = [
        f"{place(path)}:{line}: {name}"
        for path in modules("tests")
        for line, name in avoided_in_names(path.read_text())
    ]
    assert not found, "names to change:\n" + "\n".join(found)


def test_documents_are_found() -> None:
    assert {"README.md", "docs/webhooks.md"} <= {place(path) for path in documents()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Whoever calls is told.", [(1, "whoever")]),
        ("The caller for whom it is.", [(1, "whom")]),
        ("So that nobody waits\nin vain.", [(1, "nobody"), (2, "in vain")]),
        ("If he or she has his or\nher key.", [(1, "he or she"), (1, "his or her")]),
        ("One\nwho waits in\nvain", [(2, "in vain")]),
        ("Nothing whatsoever is\nhanded on.", [(1, "whatsoever"), (1, "is handed")]),
        ("It works not any more.", [(1, "not any more")]),
        ("What is late is none of ours, and those are none.", [(1, "is none"), (1, "are none")]),
        ("By its id alone, (alone) alone.", [(1, "alone"), (1, "alone"), (1, "alone")]),
        ("```\ncode\n```\nIt ceases to be, it ceased to.", [(4, "ceases to"), (4, "ceased to")]),
    ],
)
def test_a_word_to_avoid_is_found_with_its_line(text: str, found: list[tuple[int, str]]) -> None:
    assert list(avoided(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "A value that is None, or `is none`.",
        "There is none, there are none.",
        "A worker runs alone in its process.",
        "Leave the row alone. Retries leave it alone, let alone.",
        "```sh\nnobody in vain\n```",
        "1. An item\n\n   ```sh\n   nobody\n   ```",
        "A `phrase that\nis handed` on.",
        "The whomever, the nobodys, a main vein.",
        "- All that there is\n- none of them",
    ],
)
def test_other_text_is_accepted(text: str) -> None:
    assert not list(avoided(text))


def test_only_comments_and_docstrings_of_a_module_are_checked() -> None:
    source = '''"""Nobody."""

def whom(text="nobody"):  # whoever
    """Say it.

    In vain.
    """
    # this one is
    # handed on
    return f"whatsoever {text}"
'''
    assert avoided_in_python(source) == [
        (1, "nobody"),
        (3, "whoever"),
        (6, "in vain"),
        (8, "is handed"),
    ]


def test_texts_of_a_module_are_read_without_its_docstrings() -> None:
    source = '''"""Nobody."""
HELP = (
    "Nobody waits "
    f"for {NAME}, whoever it is."
)
KEY = "nobody"
DESIGNED = "Nobody is waiting."
'''
    assert avoided_in_texts(source) == [(3, "nobody"), (3, "whoever")]


def test_text_of_a_page_is_read_without_its_markup() -> None:
    source = """{# afresh #}
<p class="nobody">{% if nobody %}Sent
anew{{ whoever }}</p>
"""
    assert avoided_in_template(source) == [(1, "afresh"), (3, "anew")]


def test_names_of_tests_and_ids_of_cases_are_checked() -> None:
    source = """
@pytest.mark.parametrize("x", [
    pytest.param(1, id="nobody"),
    pytest.param(2, id="a name alone"),
    pytest.param(3, id="what is left"),
    pytest.param(4, id="no name"),
], ids=["in vain", "nothing"])
def test_what_cannot_be_is_refused(x): ...

def test_a_thread_is_none_of_these(): ...
def test_ones_own_rows_are_there(): ...
def test_a_thread_without_a_reply_waits(): ...
def test_a_bot_left_alone_stays(): ...
def whom(): ...
"""
    assert [name for _, name in avoided_in_names(source)] == [
        "nobody",
        "a name alone",
        "what is left",
        "in vain",
        "what cannot be is refused",
        "a thread is none of these",
        "ones own rows are there",
    ]
