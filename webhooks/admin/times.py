"""Render the exact time of an attempt, and the time until the next one."""

from datetime import datetime, timedelta

from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.durations import ONE_MINUTE, in_words


def precise_time(value: datetime) -> SafeString:
    """Render a time in UTC with milliseconds. The script converts it to local time."""
    return format_html(
        '<time datetime="{}" data-local="ms">{} UTC</time>',
        value.isoformat(timespec="milliseconds"),
        value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
    )


def until(seconds: float) -> str:
    """Format the number of seconds until an event: "now", "in 3 s", "in 14 min"."""
    left = timedelta(seconds=round(seconds))
    if left <= timedelta():
        return "now"
    return f"in {left.seconds} s" if left < ONE_MINUTE else f"in {in_words(left)}"


def countdown(moment: datetime, now: datetime) -> SafeString:
    """Render the time left until a moment as a countdown, which the script keeps up to date.

    `now` must come from the same clock as `moment`. The script does not rely on the browser's
    clock, which may be wrong.
    """
    left = max(0.0, round((moment - now).total_seconds(), 1))
    return format_html(
        '<time datetime="{}" title="{} UTC" data-seconds="{}">{}</time>',
        moment.isoformat(),
        f"{moment:%Y-%m-%d %H:%M:%S}",
        left,
        until(left),
    )
