"""Count each account's visitor messages by month. Open point: quota-count."""

from django.db import models

from accounts.models.account import Account


class Usage(models.Model):
    """The number of visitor messages that an account has used in one month.

    The month is stored as its first day (UTC).
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="usages")
    month = models.DateField()
    messages = models.PositiveIntegerField(default=0)
    # The highest percentage of the quota that the owner has been notified of.
    told = models.PositiveSmallIntegerField(default=0, editable=False)

    class Meta:
        verbose_name_plural = "usage"
        ordering = ["-month"]
        constraints = [
            models.UniqueConstraint(fields=["account", "month"], name="one_usage_per_month")
        ]

    def __str__(self) -> str:
        return f"{self.account} {self.month:%Y-%m}"
