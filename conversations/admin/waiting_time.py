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


def since(moment: datetime) -> SafeString:
    """Show how long ago something happened."""
    return element(moment, "hint", f"{ago(moment)} ago")


def waited(thread: Thread) -> SafeString | str:
    """Show how long the visitor has been waiting, or "" if the visitor is not waiting."""
    if not (thread.is_waiting and thread.waiting_since):
        return ""
    state, remark = level(timezone.now() - thread.waiting_since)
    words = f"{ago(thread.waiting_since)} {remark}".rstrip()
    return element(thread.waiting_since, f"wait state {state}", words)


def element(moment: datetime, classes: str, words: str) -> SafeString:
    """Render a time in words. Its title is the exact time."""
    return format_html(
        '<time datetime="{}" title="{} UTC" class="{}">{}</time>',
        moment.isoformat(),
        f"{moment:%Y-%m-%d %H:%M:%S}",
        classes,
        words,
    )
