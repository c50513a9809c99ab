"""Format how long a visitor has waited. A long wait gets a remark and a color."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.durations import in_words
from conversations.models import Thread

LONG, TOO_LONG = timedelta(minutes=5), timedelta(minutes=15)


def ago(moment: datetime | None) -> str:
    """Return the time elapsed since `moment` in words, or "" if it is None."""
    return in_words(max(timezone.now() - moment, timedelta())) if moment else ""


def level(span: timedelta) -> tuple[str, str]:
    """Return the CSS class and the remark for a wait. A short wait has neither."""
    if span > TOO_LONG:
        return "bad", "‼ too long"
    return ("busy", "! long") if span > LONG else ("", "")


def waited(thread: Thread) -> SafeString:
    """Show how long the visitor has been waiting, or the time since the last activity."""
    waits = thread.is_waiting
    since = (thread.waiting_since if waits else None) or thread.updated_at
    span = max(timezone.now() - since, timedelta())
    state, remark = level(span) if waits else ("", "")
    return format_html(
        '<time datetime="{}" title="{}" class="{}">{}{}</time>',
        since.isoformat(),
        f"{since:%Y-%m-%d %H:%M:%S} UTC",
        f"wait state {state}" if waits else "hint",
        in_words(span) if waits else f"{in_words(span)} ago",
        f" {remark}" if remark else "",
    )
