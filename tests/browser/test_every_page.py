"""Every page is accessible, fits its window, can be used with the keyboard and reports no error.

A look is a width and a color scheme. Each page is inspected in one of the four looks, which are
used in turn. If several pages share a template and differ only in text, only the first is
inspected. If the add page and the change page of a model share a template, the add page is checked
only for excessive width. Responses to forms are inspected without opening their tabs or panels.
With ALL_LOOKS=1, each page is inspected completely, in all looks, and as each kind of user sees it.
"""

from collections.abc import Iterator
from itertools import chain

import pytest
from playwright.sync_api import BrowserContext, Route

from accounts.models import User
from chatbots.models import Chatbot
from tests.admin_urls import pages
from tests.browser.conftest import window
from tests.browser.crawl import ALL_LOOKS, DESK, LOOKS, PHONE, Crawler, Look
from tests.browser.submissions import INVITATIONS, SUBMISSIONS, queries
from tests.factories.staff import signed_in
from tests.factories.tenant import Tenant

OPEN = ("/admin/login/", "/admin/nothing/", "/invitation")
APPS = {
    "accounts": 20,
    "chatbots": 15,
    "webhooks": 8,
    "conversations": 8,
}  # minimum number of pages in each app
ALIKE = {  # templates whose pages differ only in text, and the app in which each is inspected
    "admin/app_index.html": "accounts",
    "admin/confirm.html": "accounts",
    "admin/delete_confirmation.html": "accounts",
    "admin/history.html": "accounts",
    "admin/chatbots/versions.html": "chatbots",
    "admin/erase.html": "chatbots",
}
SEEN_BY = ("superuser", "manager", "agent") if ALL_LOOKS else ("superuser",)


@pytest.fixture
def tenant(shop: Chatbot) -> Tenant:
    return Tenant("zebra")


@pytest.fixture
def crawler(context: BrowserContext, live_server: object) -> Iterator[Crawler]:
    """A crawler that fails the test if it records a fault."""
    with window(context, str(live_server)) as page:
        crawler = Crawler(page, str(live_server))
        yield crawler
    assert not crawler.found, "\n".join(crawler.found)


def looks(number: int) -> tuple[Look, ...]:
    """Return the looks for a page: the next one in turn, or all of them with ALL_LOOKS."""
    return LOOKS if ALL_LOOKS else (LOOKS[number % len(LOOKS)],)


def different(found: dict[str, str], app: str) -> list[str]:
    """Return the pages to inspect in an app. With ALL_LOOKS, return all of its pages.

    A template in ALIKE is inspected once, in the app that ALIKE names. Asserts that this app has a
    page with the template.
    """
    first = {template: address for address, template in reversed(found.items())}
    chosen = [template for template, where in ALIKE.items() if where == app]
    assert ALL_LOOKS or first.keys() >= set(chosen), "no page has the template"
    return [
        address
        for address, template in found.items()
        if ALL_LOOKS or template not in ALIKE or (template in chosen and first[template] == address)
    ]


def repeats(address: str, found: dict[str, str]) -> bool:
    """Return whether an add page shares the change page's template, or False with ALL_LOOKS."""
    rows = address.removesuffix("add/")
    changed = [at for at in found if at.startswith(rows) and at.endswith("/change/")]
    return not ALL_LOOKS and address != rows and found[address] in [found[at] for at in changed]


def inspect(crawler: Crawler, look: Look, *, shell: bool, parts: bool = True) -> None:
    """Tab through the open page, inspect it, and measure it at the other width.

    With `parts`, the page is inspected in all its states.
    """
    crawler.walk(look, shell=shell)
    for state in crawler.states(shell=shell) if parts else ["as opened"]:
        crawler.inspect(state, look)
    other = Look(DESK if look.width == PHONE else PHONE, look.scheme)
    crawler.resize(other)
    for state in chain(["as it is"], crawler.tabs()):
        crawler.measure(f"resized {state}", other)


@pytest.mark.slow
@pytest.mark.parametrize("app", APPS)
@pytest.mark.parametrize("who", SEEN_BY)
def test_no_page_has_a_serious_fault(
    crawler: Crawler, tenant: Tenant, person: User, who: str, app: str
) -> None:
    people = {
        "superuser": person,
        "manager": tenant.owner,
        "agent": tenant.member,
    }
    client, under = signed_in(people[who]), f"/admin/{app}/"
    crawler.sign_in(client.cookies["sessionid"].value)
    queried = [address for address in queries(tenant) if address.startswith(under)]
    found = pages(client, tenant, under=under)
    assert len(found) + len(queried) >= (APPS[app] if who == "superuser" else 1)
    for number, address in enumerate([*different(found, app), *queried]):
        for look in looks(number):
            crawler.visit(address, look)
            if repeats(address, found):
                crawler.measure("as opened", look)
            else:
                inspect(crawler, look, shell=False)


@pytest.mark.slow
def test_no_response_to_a_form_has_a_serious_fault(
    crawler: Crawler, tenant: Tenant, person: User
) -> None:
    crawler.sign_in(signed_in(person).cookies["sessionid"].value)
    for number, send in enumerate(SUBMISSIONS):
        for look in looks(number):
            crawler.become(look, at=send.__name__)
            send(crawler.page, tenant)
            inspect(crawler, look, shell=False, parts=ALL_LOOKS)


@pytest.mark.parametrize("look", [Look(PHONE, "dark"), Look(DESK, "light")], ids=str)
def test_the_home_page_and_the_parts_of_every_page_have_no_serious_fault(
    crawler: Crawler, tenant: Tenant, person: User, look: Look
) -> None:
    crawler.sign_in(signed_in(person).cookies["sessionid"].value)
    crawler.visit("/admin/?span=30d", look)
    inspect(crawler, look, shell=True)


@pytest.mark.parametrize("number", range(len(OPEN)), ids=OPEN)
def test_no_page_before_the_sign_in_has_a_serious_fault(
    crawler: Crawler, db: None, number: int
) -> None:
    for look in looks(number):
        crawler.visit(OPEN[number], look)
        inspect(crawler, look, shell=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(INVITATIONS)))
def test_no_page_of_an_invitation_has_a_serious_fault(
    crawler: Crawler, db: None, number: int
) -> None:
    step = INVITATIONS[number]
    for look in looks(number):
        crawler.become(look, at=f"{step.__name__} /invitation")
        step(crawler.page)
        inspect(crawler, look, shell=True)


@pytest.mark.slow
def test_the_api_reference_has_no_serious_fault(crawler: Crawler, db: None) -> None:
    """Inspect the API reference only in light mode at a phone's width.

    The page has only one set of colors, and an inspection takes several seconds. Without
    ALL_LOOKS, the document is cut down to one operation per tag, because the page shows all
    operations in the same way.
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
