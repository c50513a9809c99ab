"""Length limits that several columns and fields share.

This module imports nothing, because the settings import it.
"""

SHORT = 255  # maximum length of a string if the specification sets no maximum
LONG = 65_535  # maximum length of a long text if the specification sets no maximum
