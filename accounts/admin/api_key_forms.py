"""The forms that issue and rotate an API key."""

from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.access import accounts_of
from accounts.admin.scope import managed_accounts, person
from accounts.caller import Caller
from accounts.models import Account, ApiKey, User
from config.admin.choices import RowSelect

LONGEST_LIFE = 3_650  # maximum lifetime of a key, in days
NOT_ISSUABLE = "no active member of this account has this email address"
GRACE = {0: "none: the old key expires immediately", 1: "1 hour", 24: "24 hours", 168: "7 days"}


class IssueForm(forms.Form):
    """The form for a new key: its owner, account, label and lifetime."""

    email = forms.CharField(
        label="Owner's email",
        widget=UnfoldAdminTextInputWidget,
        help_text="Only the owner may see the key. If you issue it for someone else, they collect "
        "it on the key's page.",
    )
    account = forms.ModelChoiceField(
        Account.objects.none(),
        required=False,
        empty_label="All of the owner's accounts",
        widget=RowSelect(ApiKey._meta.get_field("account")),
        help_text="The account in which the key works. "
        "A key for someone else must be bound to one account.",
    )
    label = forms.CharField(
        max_length=100,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="What the key is for, such as the name of the server that holds it",
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=LONGEST_LIFE,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Days until the key expires. Leave empty for a key that never expires.",
    )

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.issuer = person(request)
        every = Account.objects.order_by("name", "id")
        managed = (
            every if self.issuer.is_superuser else every.filter(pk__in=managed_accounts(request))
        )
        self.fields["account"].queryset = managed  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Find the owner. A key for someone else must be bound to one of that person's accounts."""
        given = self.cleaned_data
        account = given.get("account")
        owner = User.objects.find(given.get("email", ""))
        if owner == self.issuer:
            return given | {"user": owner}
        if account is None:
            self.add_error("account", "another person's key must be bound to one of their accounts")
        elif not (
            owner
            and owner.is_active
            and accounts_of(Caller(owner.pk)).filter(pk=account.pk).exists()
        ):
            self.add_error("email", NOT_ISSUABLE)
        return given | {"user": owner}


class RotateForm(forms.Form):
    """The form for rotating a key. It asks how long the old key should keep working."""

    grace = forms.TypedChoiceField(
        label="Grace period for the old key",
        choices=list(GRACE.items()),
        coerce=int,
        initial=24,
        widget=UnfoldAdminRadioSelectWidget,
        help_text="The old key keeps working until the grace period ends",
    )
