"""The views of the inbox that people saved, shown beside the tabs."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict

from accounts.admin.scope import accounts_for, declared_lookups, person
from accounts.models import Account
from accounts.permissions import Action
from config.admin.keyset import whole_id
from conversations.models import SavedView

MOST = 50  # maximum number of saved views that the inbox shows


class SavedViewForm(forms.ModelForm[SavedView]):
    """The name of the shown view, and whether it is for the person or for an account."""

    class Meta:
        """The fields that the person fills in. Without an account, the view is for the person."""

        model = SavedView
        fields = ("name", "account")


def normalized(query: QueryDict, model_admin: Any, request: HttpRequest) -> str:
    """Return the tab, the filters and the search of a query string, in order of name."""
    names = {"view", "q", *declared_lookups(model_admin, request)}
    return urlencode(sorted((name, query[name]) for name in names if query.get(name)))


def accounts(request: HttpRequest) -> "QuerySet[Account]":
    """Select the accounts that the person belongs to."""
    return Account.objects.filter(pk__in=accounts_for(request, Action.ENTER_ACCOUNT))


def form_for(request: HttpRequest, *args: Any, **options: Any) -> SavedViewForm:
    """Build the form, which offers the accounts that the person belongs to."""
    form = SavedViewForm(*args, **options)
    field: Any = form.fields["account"]
    field.queryset, field.empty_label = accounts(request).order_by("name", "id"), "for me"
    field.label_from_instance = lambda account: f"for {account}"
    return form


def save(request: HttpRequest, model_admin: Any) -> SavedView | None:
    """Save the shown view, or replace the person's view of the same name. None if invalid."""
    name = request.POST.get("name", "").strip()
    known = SavedView.objects.filter(owner=person(request), name=name).first()
    form = form_for(request, request.POST, instance=known or SavedView(owner=person(request)))
    if not form.is_valid():
        return None
    query = normalized(QueryDict(request.POST.get("query", "")), model_admin, request)
    form.instance.query = query[:2_000]
    return form.save()


def remove(request: HttpRequest) -> None:
    """Delete one of the person's own views."""
    if wanted := whole_id(request.POST.get("remove", "")):
        SavedView.objects.filter(pk=wanted, owner=person(request)).delete()


def shown(request: HttpRequest, model_admin: Any) -> list[dict[str, Any]]:
    """List the person's own views and those of the person's accounts, by name."""
    current = normalized(request.GET, model_admin, request)
    belongs = accounts_for(request, Action.ENTER_ACCOUNT)
    rows = SavedView.objects.filter(Q(owner=person(request)) | Q(account__in=belongs))
    return [
        {
            "row": row,
            "url": f"?{row.query}",
            "active": row.query == current,
            "own": row.owner_id == person(request).pk,
        }
        for row in rows.order_by("name", "id")[:MOST]
    ]
