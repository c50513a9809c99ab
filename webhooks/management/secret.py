"""Read a secret that is not to appear in the shell's history."""

import sys
from getpass import getpass

from django.core.management.base import CommandError

STANDARD_INPUT = "-"


def secret_given(text: str | None) -> str | None:
    """Return `text`, or a secret read from standard input if `text` is "-".

    At a terminal, prompts for the secret without echoing it. Raises CommandError if the input is
    empty.
    """
    if text != STANDARD_INPUT:
        return text
    try:
        at_terminal = sys.stdin.isatty()
        read = getpass("Secret: ") if at_terminal else sys.stdin.readline().rstrip("\r\n")
    except (EOFError, KeyboardInterrupt):
        read = ""
    if not read:
        raise CommandError("standard input is empty")
    return read
