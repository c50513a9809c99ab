"""Every page is accessible, fits its window, is reached by keyboard and keeps to the policy.

Each page is inspected in one look, the next one in the next look. Of pages that differ only in the
words of one template, the first one is inspected. With ALL_LOOKS=1 each page is inspected in light
and dark at both widths, as each kind of person sees it.
"""

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.urls import reverse
from playwright.sync_api import BrowserContext, Route

from accounts.models import User
from chatbots.models import Chatbot
from tests.admin_urls import pages
from tests.browser.conftest import window
from tests.browser.crawl import ALL_LOOKS, DESK, LOOKS, PHONE, Crawler, Look
from tests.browser.submissions import SUBMISSIONS, queries
from tests.factories.staff import ACCOUNT_ADMINS, AGENTS, signed_in, staff
from tests.factories.tenant import Tenant

OPEN = ("/admin/login/", "/admin/nothing/", "/invitation")
APPS = {"accounts": 20, "chatbots": 15, "webhooks": 8, "conversations": 8}  # and fewest pages
ALIKE = {  # templates whose pages differ only in their words, and the app whose first is inspected
    "admin/app_index.html": "accounts",
    "admin/confirm.html": "accounts",
    "admin/delete_confirmation.html": "accounts",
    "admin/history.html": "accounts",
    "admin/erase.html": "chatbots",
    "admin/export.html": "conversations",
}
SEEN_BY = ("superuser", "manager", "agent") if ALL_LOOKS else ("superuser",)


@pytest.fixture
def tenant(shop: Chatbot) -> Tenant:
    return Tenant("zebra")


@pytest.fixture
def crawler(context: BrowserContext, live_server: object) -> Iterator[Crawler]:
    """A window whose faults fail the test."""
    with window(context, str(live_server)) as page:
        crawler = Crawler(page, str(live_server))
        yield crawler
    assert not crawler.found, "\n".join(crawler.found)


def looks(number: int) -> tuple[Look, ...]:
    """Return the looks of a page: the next one, or all of them if asked."""
    return LOOKS if ALL_LOOKS else (LOOKS[number % len(LOOKS)],)


def different(found: dict[str, str], app: str) -> list[str]:
    """Leave one page of each template whose pages are alike, or all pages if asked."""
    first = {template: address for address, template in reversed(found.items())}
    chosen = [template for template, where in ALIKE.items() if where == app]
    assert ALL_LOOKS or first.keys() >= set(chosen), "no page has the template"
    return [
        address
        for address, template in found.items()
        if ALL_LOOKS or template not in ALIKE or (template in chosen and first[template] == address)
    ]


def inspect(crawler: Crawler, look: Look, *, shell: bool) -> None:
    """Walk through the open page by keyboard, and inspect it in all its states."""
    crawler.walk(look, shell=shell)
    for state in crawler.states(shell=shell):
        crawler.inspect(state, look)
    other = Look(DESK if look.width == PHONE else PHONE, look.scheme)
    crawler.resize(other)
    crawler.measure("resized", other)


@pytest.mark.parametrize("app", APPS)
@pytest.mark.parametrize("who", SEEN_BY)
def test_no_page_has_a_serious_fault(
    crawler: Crawler, tenant: Tenant, person: User, who: str, app: str
) -> None:
    people = {
        "superuser": person,
        "manager": staff(tenant.owner, ACCOUNT_ADMINS),
        "agent": staff(tenant.member, AGENTS),
    }
    client, under = signed_in(people[who]), f"/admin/{app}/"
    crawler.sign_in(client.cookies["sessionid"].value)
    queried = [address for address in queries(tenant) if address.startswith(under)]
    found = pages(client, tenant, under=under)
    assert len(found) + len(queried) >= (APPS[app] if who == "superuser" else 1)
    for number, address in enumerate([*different(found, app), *queried]):
        for look in looks(number):
            crawler.visit(address, look)
            inspect(crawler, look, shell=False)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_the_home_and_the_parts_of_every_page_have_no_serious_fault(
    crawler: Crawler, tenant: Tenant, person: User, look: Look
) -> None:
    crawler.sign_in(signed_in(person).cookies["sessionid"].value)
    crawler.visit("/admin/?span=30d", look)
    inspect(crawler, look, shell=True)
    crawler.visit("/admin/password_change/", look)
    inspect(crawler, look, shell=ALL_LOOKS)


def test_no_response_to_a_form_has_a_serious_fault(
    crawler: Crawler, tenant: Tenant, person: User
) -> None:
    crawler.sign_in(signed_in(person).cookies["sessionid"].value)
    for number, send in enumerate(SUBMISSIONS):
        for look in looks(number):
            crawler.become(look, at=send.__name__)
            send(crawler.page, tenant)
            inspect(crawler, look, shell=False)


@pytest.mark.skipif(not ALL_LOOKS, reason="only with ALL_LOOKS=1")
@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_no_empty_list_has_a_serious_fault(crawler: Crawler, person: User, look: Look) -> None:
    crawler.sign_in(signed_in(person).cookies["sessionid"].value)
    for model in admin.site._registry:
        name = model._meta.label_lower.replace(".", "_")
        crawler.visit(reverse(f"admin:{name}_changelist"), look)
        inspect(crawler, look, shell=False)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_no_page_before_the_sign_in_has_a_serious_fault(
    crawler: Crawler, db: None, look: Look
) -> None:
    for address in OPEN if ALL_LOOKS else [OPEN[LOOKS.index(look) % len(OPEN)]]:
        crawler.visit(address, look)
        inspect(crawler, look, shell=True)


def test_the_api_reference_has_no_serious_fault(crawler: Crawler, db: None) -> None:
    """One look is enough: it has one set of colours, and one inspection takes seconds.

    So is one operation of each kind, because the page shows all of them in the same way.
    """

    def shorten(route: Route) -> None:
        document, tags = route.fetch().json(), set()
        for methods in document["paths"].values():
            for method, operation in [*methods.items()]:
                if tags.issuperset(operation["tags"]):
                    del methods[method]
                tags |= {*operation["tags"]}
        route.fulfill(json=document)

    if not ALL_LOOKS:
        crawler.page.route("**/openapi.json", shorten)
    look = Look(PHONE, "light")
    crawler.visit("/docs", look)
    crawler.page.get_by_role("heading", name="Personas").first.wait_for()
    crawler.inspect("as opened", look)
