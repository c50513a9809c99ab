"""The admin pages for accounts: plan, members and usage."""

from datetime import date
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminEmailInputWidget

from accounts.admin.membership import MembershipInline
from accounts.admin.scope import AccountRows, person
from accounts.admin.usage import UsageInline, used
from accounts.models import Account, Membership, Plan, Usage, User
from accounts.models.user import MANAGING
from accounts.quotas import WARNED_AT, month_of
from accounts.services.user import check_active, find_or_create_user
from config.admin.choices import RowFilter
from config.admin.conflict import ConflictForm
from config.database.lengths import SHORT

HANDOFF = (
    "mail_on_escalation",
    "remind_after_minutes",
    "return_after_minutes",
    "working_hours",
    "time_zone",
)
STILL_OPEN = (
    "Open invitations to {} still work, even if a former manager has sent them or copied their "
    'links. <a class="underline" href="{}">Check them</a>'
)


class AccountForm(forms.ModelForm[Any]):
    """The form for a new account. It identifies the owner by email address."""

    owner_email = forms.EmailField(
        label="Owner's email", max_length=SHORT, widget=UnfoldAdminEmailInputWidget, required=True
    )

    class Meta:
        model = Account
        fields = ("name", "plan", "mail_on_escalation")

    def clean_owner_email(self) -> str:
        """Reject a deactivated person."""
        email: str = self.cleaned_data["owner_email"]
        found = User.objects.find(email)
        if found:
            must_be_active(found)
        return email


class AccountChangeForm(ConflictForm):
    """The form for an existing account."""

    def clean_owner(self) -> User:
        """Reject a deactivated person as a new owner."""
        owner: User = self.cleaned_data["owner"]
        if "owner" in self.changed_data:
            must_be_active(owner)
        return owner


def must_be_active(owner: User) -> None:
    """Raise ValidationError if a person is deactivated."""
    try:
        check_active(owner)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def quota_line(account: Account, month: date) -> dict[str, Any]:
    """Return a month's message count and quota, with a label if most of the quota is used."""
    usage = Usage.objects.filter(account=account, month=month).first()
    usage = usage or Usage(account=account, month=month, messages=0)
    usage.account = account
    quota, state = account.plan.monthly_messages, None
    if quota is not None and usage.messages >= quota:
        state = ("bad", "used up")
    elif quota and usage.messages * 100 >= min(WARNED_AT) * quota:
        state = ("busy", f"{usage.messages * 100 // quota}% used")
    return {"used": used(usage), "used_state": state}


class PlanFilter(RowFilter):
    """Filters accounts by plan."""

    title = parameter_name = "plan"

    def rows(self, request: HttpRequest, model_admin: ModelAdmin) -> "QuerySet[Plan]":
        """Return all plans, because only superusers see this filter."""
        return Plan.objects.all()


@admin.register(Account)
class AccountAdmin(AccountRows):
    """The pages for accounts. Only superusers can change the owner, plan and webhooks add-on."""

    account_path = "pk"
    form = AccountChangeForm
    key = ("name", "id")
    list_display = ("name", "plan", "owner", "webhooks_enabled", "mail_on_escalation")
    list_filter = (PlanFilter,)
    search_fields = ("name__istartswith",)
    search_help_text = "the beginning of a name"
    fields = ("name", "owner", "plan", "webhooks_enabled", *HANDOFF)
    inlines = (MembershipInline, UsageInline)
    change_form_outer_before_template = "admin/accounts/account_head.html"
    empty_text = (
        "You do not manage any accounts. Superusers can add one. To manage an existing account, "
        "ask its owner or a super admin to change your role."
    )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Account]":
        """Fetch the plan and the owner along with each account."""
        return super().get_queryset(request).select_related("plan", "owner")

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Offer the filter only to superusers. Other staff manage too few accounts to need it."""
        return self.list_filter if person(request).is_superuser else ()

    def get_fields(self, request: HttpRequest, obj: Account | None = None) -> Any:
        """Choose the fields to show for a new or existing account.

        For a new account, the owner is entered as an email address, and the plan determines whether
        the account has the webhooks add-on. Only superusers can open a plan's page, so other staff
        see the plan's name without a link.
        """
        if obj is None:
            return ("name", "owner_email", "plan", "mail_on_escalation")
        plan = "plan" if person(request).is_superuser else "plan_name"
        return tuple(plan if name == "plan" else name for name in self.fields)

    def get_form(
        self, request: HttpRequest, obj: Account | None = None, change: bool = False, **options: Any
    ) -> "type[ModelForm[Any]]":
        """Use AccountForm for a new account."""
        given = options if obj else options | {"form": AccountForm}
        form: type[ModelForm[Any]] = super().get_form(request, obj, change=change, **given)
        return form

    def get_inlines(self, request: HttpRequest, obj: Account | None) -> Any:
        """Show members and usage only for an existing account."""
        return self.inlines if obj else ()

    def get_readonly_fields(self, request: HttpRequest, obj: Account | None = None) -> Any:
        """Let only superusers change the owner, the plan and the add-on."""
        return () if person(request).is_superuser else ("owner", "plan_name", "webhooks_enabled")

    @admin.display(description="plan")
    def plan_name(self, account: Account) -> str:
        """Show the plan's name, without a link."""
        return str(account.plan)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show how much of the quota the account has used this month."""
        month, resets_at = month_of(timezone.now())
        row = self.get_object(request, unquote(object_id))
        known = quota_line(row, month) if row else {}
        shown: HttpResponse = super().change_view(
            request,
            object_id,
            form_url,
            {**(extra_context or {}), **known, "resets_on": resets_at},
        )
        return shown

    def save_model(
        self, request: HttpRequest, obj: Account, form: "ModelForm[Any]", change: bool
    ) -> None:
        """Find or create the owner of a new account, by email address."""
        if not change:
            obj.owner = find_or_create_user(form.cleaned_data["owner_email"])
        super().save_model(request, obj, form, change)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save the members, and warn of open invitations if one no longer manages the account."""
        super().save_formset(request, form, formset, change)
        left = any(
            row.initial.get("role") in MANAGING
            and (row in formset.deleted_forms or row.cleaned_data.get("role") not in MANAGING)
            for row in formset.initial_forms
        )
        if formset.model is Membership and left and form.instance.invitations.valid().exists():
            address = reverse("admin:accounts_invitation_changelist")
            messages.warning(request, format_html(STILL_OPEN, form.instance, address))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletion: it would also remove the chatbots, conversations and deliveries."""
        return False
