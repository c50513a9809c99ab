"""Length limits that several columns and fields share.

This module imports nothing, because the settings import it.
"""

SHORT = 255  # maximum length of a string, in characters, where the specification gives none
LONG = 65_535  # maximum length of a long text, in characters, where the specification gives none
