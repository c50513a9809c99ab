"""The interface texts: their names, and the texts shipped for each language.

The English file, en.json, is the only complete list of names: records, forms and the OpenAPI
document derive from it.
Specification: Resources, Localization text set.
"""

import json
from functools import cache
from pathlib import Path


@cache
def shipped_texts(locale_code: str) -> dict[str, str]:
    """Return the shipped texts in a locale's language ("de" for "de-AT"), or {} if none exist."""
    language = locale_code.split("-")[0].lower()
    path = Path(__file__).parent / f"{language}.json"
    if not language.isalpha() or not path.is_file():
        return {}
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return texts


NAMES = tuple(shipped_texts("en"))
