"""The mails to owners of accounts: their words and addresses. The worker sends them."""

from accounts.models import Account, Mail
from config.db import SHORT

ONE_LINE = str.maketrans({"\r": " ", "\n": " "})


def tell_owner(account: Account, *, subject: str, body: str) -> None:
    """Store a mail to the owner of an account, inside the caller's transaction."""
    Mail.objects.create(
        account=account,
        to=account.owner.email,
        subject=subject.translate(ONE_LINE)[:SHORT],
        body=body,
    )


def quota_used(account: Account, *, percent: int, quota: int) -> None:
    """Tell the owner how much of the month's messages is used, inside the caller's transaction."""
    consequence = (
        "Further messages are refused until the first of next month (UTC)."
        if percent >= 100
        else "When all are used, further messages are refused until the first of next month (UTC)."
    )
    tell_owner(
        account,
        subject=f"{account.name}: {percent} % of this month's messages used",
        body=(
            f"The account {account.name} has used {percent} % of the {quota} messages of its plan "
            f"({account.plan}) this month.\n\n{consequence}\n"
        ),
    )
