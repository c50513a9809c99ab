"""The bounds of texts that several columns and fields share. Imports nothing: settings use it."""

SHORT = 255  # characters of a string without a documented bound
LONG = 65_535  # characters of a long text without a documented bound
URL = 2_048  # characters of a page's URL
