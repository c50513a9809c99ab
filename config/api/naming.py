"""Convert snake_case names to camelCase names for JSON. No other module does this."""


def camel(name: str) -> str:
    """Convert a Python name to its JSON name: `created_at` to `createdAt`."""
    first, _, rest = name.partition("_")
    return first + capitalized(rest)


def capitalized(name: str) -> str:
    """Capitalize the words of a name and join them: `NEW_LEAD` to `NewLead`."""
    return "".join(word.capitalize() for word in name.split("_"))
