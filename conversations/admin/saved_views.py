"""The views of the inbox that people saved, shown beside the tabs."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Case, Q, When
from django.http import HttpRequest, QueryDict

from accounts.admin.scope import accounts_for, declared_lookups, manages, person
from accounts.models import Account
from accounts.permissions import Action
from config.admin.keyset import whole_id
from conversations.models import SavedView

MOST = 50  # maximum number of views that a person can save, and of others' views that are shown


class SavedViewForm(forms.ModelForm[SavedView]):
    """The name of the shown view, and whether it is for the person or for an account."""

    class Meta:
        """The fields that the person fills in. Without an account, the view is for the person."""

        model = SavedView
        fields = ("name", "account", "query")


def normalized(query: QueryDict, model_admin: Any, request: HttpRequest) -> str:
    """Return the tab, the filters and the search of a query string, in order of name."""
    names = {"view", "q", *declared_lookups(model_admin, request)}
    return urlencode(sorted((name, query[name]) for name in names if query.get(name)))


def form_for(request: HttpRequest, *args: Any, **options: Any) -> SavedViewForm:
    """Build the form, which offers the accounts that the person belongs to."""
    form = SavedViewForm(*args, **options)
    field: Any = form.fields["account"]
    belongs = accounts_for(request, Action.ENTER_ACCOUNT)
    field.queryset = Account.objects.filter(pk__in=belongs).order_by("name", "id")
    field.empty_label, field.label_from_instance = "for me", lambda account: f"for {account}"
    return form


def save(request: HttpRequest, model_admin: Any) -> SavedView:
    """Save the shown view, or replace the person's view of the same name.

    Raises ValidationError.
    """
    given = request.POST.dict()
    query = normalized(QueryDict(given.get("query", "")), model_admin, request)
    form = form_for(request, given | {"query": query})
    if not form.is_valid():
        raise ValidationError([f"{name}: {words[0]}" for name, words in form.errors.items()])
    own, name = SavedView.objects.filter(owner=person(request)), form.cleaned_data.pop("name")
    if own.exclude(name=name).count() >= MOST:
        raise ValidationError(f"you can save at most {MOST} views")
    view, _ = own.update_or_create(owner=person(request), name=name, defaults=form.cleaned_data)
    return view


def may_remove(request: HttpRequest, view: SavedView) -> bool:
    """Return whether the person may delete a view: it is theirs, or they manage its account."""
    if view.owner_id == person(request).pk:
        return True
    return bool(view.account_id and manages(request, view.account_id))


def remove(request: HttpRequest) -> None:
    """Delete a view that the person may delete."""
    wanted = whole_id(request.POST.get("remove", ""))
    view = SavedView.objects.filter(pk=wanted).first() if wanted else None
    if view and may_remove(request, view):
        view.delete()


def shown(request: HttpRequest, model_admin: Any) -> list[dict[str, Any]]:
    """List the person's own views, then those of the person's accounts, each by name."""
    current = normalized(request.GET, model_admin, request)
    own, belongs = Q(owner=person(request)), accounts_for(request, Action.ENTER_ACCOUNT)
    rows = SavedView.objects.filter(own | Q(account__in=belongs))
    return [
        {
            "row": row,
            "url": f"?{row.query}",
            "active": row.query == current,
            "removable": may_remove(request, row),
        }
        for row in rows.order_by(Case(When(own, then=0), default=1), "name", "id")[: 2 * MOST]
    ]
