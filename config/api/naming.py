"""Names on the wire: snake_case becomes camelCase here, and nowhere else."""


def camel(name: str) -> str:
    """Convert a Python name to the wire's: `created_at` to `createdAt`."""
    first, _, rest = name.partition("_")
    return first + capitalised(rest)


def capitalised(name: str) -> str:
    """Capitalise the words of a name and join them: `NEW_LEAD` to `NewLead`."""
    return "".join(word.capitalize() for word in name.split("_"))
