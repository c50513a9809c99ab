"""Length limits that several columns and fields share.

This module imports nothing, because the settings import it.
"""

SHORT = 255  # maximum characters of a string without a documented bound
LONG = 65_535  # maximum characters of a long text without a documented bound
URL = 2_048  # maximum characters of a page's URL
