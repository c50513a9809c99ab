"""Monthly message quotas and chatbot limits, enforced inside the caller's transaction.

A message is counted by one conditional UPDATE in the transaction that stores it. The owner of an
account gets an email when the month's usage reaches a percentage in WARNED_AT.

Specification: Limits. Open points: plans, quota-count, quota-body.
"""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone

from accounts import notifications
from accounts.models import Account, Usage
from config.api.errors import ApiError, TooManyRequests
from config.database.prepared import Update, prepare

WARNED_AT = (100, 80)  # percentages of the quota; each triggers at most one email a month


class ChatbotLimitReached(ApiError):
    """The account has as many chatbots as its plan allows."""

    status_code, code, message = 403, "CHATBOT_LIMIT_REACHED", "chatbot quota exceeded"


class MessagesLimitReached(TooManyRequests):
    """The account has used all of the month's messages."""

    code, message = "MESSAGES_LIMIT_REACHED", "monthly message quota exhausted"


def month_of(moment: datetime) -> tuple[date, datetime]:
    """Return the first day of a time's month and the start of the next month, both in UTC."""
    first = moment.astimezone(UTC).date().replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return first, datetime(following.year, following.month, 1, tzinfo=UTC)


def counted_message(*, account: UUID, month: date, quota: int | None) -> Update:
    """Add one message to an account's monthly count. Changes no row once the quota is used up."""
    usage = Usage.objects.filter(account=account, month=month)
    if quota is not None:
        usage = usage.filter(messages__lt=quota)
    return Update(usage, {"messages": F("messages") + 1}, ("messages", "told"))


COUNT = prepare(counted_message)


def taken(account: Account, month: date) -> bool:
    """Count one message if the quota allows it, and email the owner at each threshold.

    Returns False if the quota is used up, or if the month has no row yet.
    """
    quota = account.plan.monthly_messages
    usage = COUNT.first(account=account.pk, month=month, quota=quota)
    if usage and quota is not None:
        warn(account, month, *usage)
    return usage is not None


def take_message(account: Account) -> None:
    """Count one message against the month's quota, inside the caller's transaction.

    Raises MessagesLimitReached. A rollback undoes the count.
    """
    now = timezone.now()
    month, end = month_of(now)
    if taken(account, month):
        return
    Usage.objects.bulk_create([Usage(account=account, month=month)], ignore_conflicts=True)
    if not taken(account, month):
        start = datetime(month.year, month.month, 1, tzinfo=UTC)
        raise MessagesLimitReached(
            limit=account.plan.monthly_messages or 0,
            window=int((end - start).total_seconds()),
            retry_after=math.ceil((end - now).total_seconds()),
        )


def warn(account: Account, month: date, messages: int, told: int) -> None:
    """Email the owner when usage reaches a threshold in WARNED_AT.

    The caller has locked the month's row. `told` is the threshold that the last email reported, or
    0 if no email has been sent.
    """
    quota = account.plan.monthly_messages or 0
    reached = next((share for share in WARNED_AT if messages * 100 >= share * quota), 0)
    if reached > told:
        Usage.objects.filter(account=account, month=month).update(told=reached)
        notifications.quota_used(account, percent=reached, quota=quota)


def take_chatbot(account: Account, existing: QuerySet[Any]) -> None:
    """Check that the plan allows one more chatbot. Raises ChatbotLimitReached.

    If there is a limit, the account's row stays locked until the caller's transaction ends.
    """
    quota = account.plan.max_chatbots
    if quota is None:
        return
    Account.objects.select_for_update().get(pk=account.pk)
    if existing.count() >= quota:
        raise ChatbotLimitReached
