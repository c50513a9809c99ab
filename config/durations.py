"""Named durations, and a function that formats durations in the same way as pages/times.js."""

from datetime import timedelta

ONE_MINUTE, ONE_HOUR, ONE_DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def in_words(span: timedelta) -> str:
    """Format a duration in its largest whole unit: "under 1 min", "14 min", "3 h", "2 days"."""
    if span < ONE_MINUTE:
        return "under 1 min"
    if span < ONE_HOUR:
        return f"{span // ONE_MINUTE} min"
    if span < ONE_DAY:
        return f"{span // ONE_HOUR} h"
    return "1 day" if span < 2 * ONE_DAY else f"{span // ONE_DAY} days"
