"""Staff preview, start, watch, stop and resume bulk retries in the admin."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.pages import fields_of
from webhooks.models import Delivery, RetryJob
from webhooks.services.retry import retry
from webhooks.services.retry_job import advance, start
from webhooks.services.selection import Selection

ALL = reverse("admin:webhooks_delivery_retry_all")
LOG = reverse("admin:webhooks_delivery_changelist")
JOBS = reverse("admin:webhooks_retryjob_changelist")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    EndpointFactory(chatbot=chatbot)
    return signed_in(chatbot.account.owner)


def failed(chatbot: Chatbot, count: int = 1, **fields: Any) -> list[Delivery]:
    made = {"state": "FAILED", "due_at": None, "attempts_count": 4, "last_code": 503}
    return [DeliveryFactory(chatbot=chatbot, **made | fields) for _ in range(count)]


def page_of(job: RetryJob, name: str = "change") -> str:
    return reverse(f"admin:webhooks_retryjob_{name}", args=[job.pk])


def test_a_page_says_what_would_be_retried_before_anything_happens(
    client: Client, chatbot: Chatbot
) -> None:
    failed(chatbot, 3, event="NEW_LEAD")
    failed(chatbot, 2)
    failed(EndpointFactory().chatbot, 7)
    link = f"{ALL}?state__exact=FAILED&event__exact=NEW_LEAD"
    assert "retry-all/?state__exact=FAILED" in client.get(f"{LOG}?state__exact=FAILED").text
    text = client.get(link).text
    for wanted in (
        "event: NEW_LEAD",
        "<b>3</b> FAILED",
        chatbot.name,
        "these deliveries again",
    ):
        assert wanted in text
    assert fields_of(client.get(link))["per_second"] == "10"
    assert not RetryJob.objects.exists()


def test_a_job_retries_exactly_what_the_filter_matched(client: Client, chatbot: Chatbot) -> None:
    wanted = failed(chatbot, 3, event="NEW_LEAD")
    failed(chatbot, 2)
    foreign = failed(EndpointFactory().chatbot, 2, event="NEW_LEAD")
    link = f"{ALL}?event__exact=NEW_LEAD&created_at_from_0=2000-01-01&created_at_from_1=00:00:00"
    form = fields_of(client.get(link)) | {"per_second": "50"}
    answer = client.post(link, form)
    job = RetryJob.objects.get()
    assert answer["Location"] == page_of(job)
    assert client.post(link, form)["Location"] == JOBS, "the same form, submitted twice"
    assert RetryJob.objects.count() == 1
    advance()
    due = set(Delivery.objects.filter(due_at__isnull=False).values_list("pk", flat=True))
    assert due == {row.pk for row in wanted}
    assert due.isdisjoint(row.pk for row in foreign)
    assert (job.by, job.per_second) == (chatbot.account.owner.get_full_name(), 50)


@pytest.mark.parametrize(
    ("query", "speed"),
    [
        *((query, "10") for query in ("state__exact=SUCCESS", "code=2xx", "is_test__exact=1")),
        *((query, "10") for query in ("event__exact=NEW_LEAD", "q=shop")),
        *(("", speed) for speed in ("0", "101", "x", "")),
    ],
)
def test_a_filter_without_failures_or_a_speed_out_of_bounds_starts_nothing(
    client: Client, chatbot: Chatbot, query: str, speed: str
) -> None:
    failed(chatbot)
    answer = client.post(f"{ALL}?{query}", {"per_second": speed}, follow=True)
    assert answer.status_code == 200
    assert ("No FAILED deliveries match this filter" in answer.text) is bool(query)
    assert not RetryJob.objects.exists()


def test_a_second_job_for_an_endpoint_is_refused_with_the_reason(
    client: Client, chatbot: Chatbot
) -> None:
    failed(chatbot, 2)
    client.post(ALL, {"per_second": "10"})
    text = client.post(ALL, {"per_second": "10"}).text
    assert "is already running for the webhook of" in text
    assert RetryJob.objects.count() == 1


def test_the_page_of_a_job_shows_its_progress_and_stops_and_resumes_it(
    client: Client, chatbot: Chatbot
) -> None:
    failed(chatbot, 40)
    job = start(Selection(chatbot=chatbot.pk), [chatbot.pk], per_second=5, by="Kim")
    advance()
    text = client.get(page_of(job)).text
    for wanted in ("<b>15 of 40</b> retried", f"chatbot: {chatbot.name}", "by Kim", "Stop"):
        assert wanted in text
    news = client.get(page_of(job, "news"))
    seen = {"If-None-Match": news["ETag"]}
    assert client.get(page_of(job, "news"), headers=seen).status_code == 304
    client.post(page_of(job, "stop"))
    answer = client.get(page_of(job, "news"), headers=seen)
    assert "stopped by" in answer.json()["html"]
    assert answer.json()["moving"] is True, "the retries that were already requested still wait"
    client.post(page_of(job, "resume"))
    assert RetryJob.objects.get().state == "RUNNING"
    assert "15 of 40" in client.get(JOBS).text


def test_staff_see_only_jobs_whose_chatbots_are_all_theirs(
    client: Client, chatbot: Chatbot
) -> None:
    other = EndpointFactory().chatbot
    failed(chatbot)
    failed(other)
    everything = start(Selection(), None, per_second=1, by="Kim")
    assert signed_in(superuser()).get(page_of(everything)).status_code == 200
    for name in ("change", "news"):
        assert client.get(page_of(everything, name)).status_code == 302
    client.post(page_of(everything, "stop"))
    assert RetryJob.objects.get().state == "RUNNING"
    assert "Kim" not in client.get(JOBS).text


@pytest.mark.parametrize(
    ("states", "state", "counts"),
    [
        ("SSS", "SUCCEEDED", (3, 0, 0)),
        ("SSF", "DONE", (2, 1, 0)),
        ("SFW", "DONE", (1, 1, 1)),
        ("WWW", "DONE", (0, 0, 3)),
    ],
)
def test_a_finished_job_says_what_became_of_its_retries(
    client: Client, chatbot: Chatbot, states: str, state: str, counts: tuple[int, ...]
) -> None:
    rows = failed(chatbot, 3)
    job = start(Selection(chatbot=chatbot.pk), [chatbot.pk], per_second=50, by="Kim")
    advance()
    failed(chatbot)  # not part of the job
    ended: dict[str, dict[str, Any]] = {
        "S": {"state": "SUCCESS", "due_at": None},
        "F": {"due_at": None},
        "W": {},
    }
    for row, end in zip(rows, states, strict=True):
        Delivery.objects.filter(pk=row.pk).update(**ended[end], updated_at=timezone.now())
    page = client.get(page_of(job))
    words = ("succeeded", "failed again", "still wait")
    for count, word in zip(counts, words, strict=True):
        assert f"<b>{count}</b> {word}" in page.text
    assert (f'state good">{state}' in page.text) is (state == "SUCCEEDED")
    news = client.get(page_of(job, "news"))
    assert news.json()["moving"] is (counts[2] > 0)
    links = re.findall(r'<td><a class="link" href="([^"]+)">(\d+)', page.text)
    assert [int(number) for _, number in links] == [count for count in counts if count]
    assert all(client.get(unescape(address)).status_code == 200 for address, _ in links)
    [listed] = client.get(JOBS).context["cl"].result_list
    assert (listed.succeeded, listed.retried) == (counts[0], 3)
    assert (">SUCCEEDED<" in re.sub(r"\s", "", client.get(JOBS).text)) is (state == "SUCCEEDED")
    retry(Delivery.objects.filter(pk=rows[2].pk), by="Sam")
    again = client.get(page_of(job)).text
    assert ("1 were retried again" in again) is (states[2] == "F")
