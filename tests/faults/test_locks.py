"""A worker that halts, loses its connection or settles deliveries does not block other workers.

The tests cause lock conflicts deliberately, because such conflicts rarely happen by chance.
"""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from django.utils import timezone

from config.database.ids import new_id
from config.runtime import liveness
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.processes import ROOT, Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.engine import claims, recovery, schedule
from webhooks.engine.post import Outcome
from webhooks.engine.work import Result, Target, Work
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = [
    pytest.mark.proves("Delivery rules"),
    pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has one worker"),
]
HALTS_IN_A_CLAIM = """
import os, signal, django
django.setup()
from webhooks.engine import claims, queue, schedule
def halt(sql, *values, rows=queue.rows, **named):
    found = rows(sql, *values, **named)
    if sql == claims.TAKE:
        print("halted", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    return found
queue.rows = halt
claims.claim("77", slots=8)
"""
BROKEN, TAKEN = Result(outcome=Outcome(1, 503)), Result(outcome=Outcome(1, 200))


def test_a_worker_halted_during_a_claim_does_not_stop_the_others_for_long(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    with Worker() as worker:
        DeliveryFactory(chatbot=endpoint.chatbot)
        receiver.wait_for(1, 60)
        wait_until(lambda: not Delivery.objects.exclude(due_at=None).exists(), told=worker.said)
        worker.signal(signal.SIGSTOP)  # so that the process below claims the next delivery
        DeliveryFactory(chatbot=endpoint.chatbot)
        halted = subprocess.Popen(
            [sys.executable, "-c", HALTS_IN_A_CLAIM],
            cwd=ROOT,
            env=worker.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert halted.stdout.readline() == "halted\n"
            worker.signal(signal.SIGCONT)
            receiver.wait_for(2, 25)  # a dispatcher counts as stuck only after 30 s
        finally:
            halted.send_signal(signal.SIGKILL)
            halted.wait()
            halted.stdout.close()


def in_a_thread(call: Callable[..., object], *args: Any) -> threading.Thread:
    def run() -> None:
        try:
            call(*args)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_stopping_worker_does_not_release_an_attempt_that_is_starting(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    [claimed] = claims.claim("1", slots=8)
    inside, go_on, begun = threading.Event(), threading.Event(), []
    read = schedule._read_begun

    def slowly(*args: Any) -> Iterator[Any]:
        rows = list(read(*args))
        inside.set()
        assert go_on.wait(30)
        return iter(rows)

    monkeypatch.setattr(schedule, "_read_begun", slowly)
    confirming = in_a_thread(lambda: begun.extend(schedule._confirm_all([(claimed, "1")])))
    assert inside.wait(30)
    recovery.release_all("1")
    go_on.set()
    confirming.join(30)
    assert schedule.settle(begun[0], Result(outcome=Outcome(1, 200)))
    assert Delivery.objects.get(pk=delivery.pk).state == "SUCCESS"


def test_a_worker_reconnects_while_its_lost_session_still_exists(transactional_db: None) -> None:
    life = liveness.DatabaseLife()
    life.hold()
    ghost = life.own
    life.own = psycopg.connect(**connection.get_connection_params(), autocommit=True)
    life.own.close()  # the connection seems lost, but `ghost` keeps its session open
    holding = threading.Thread(target=life.hold, daemon=True)
    holding.start()
    holding.join(20)
    held = not holding.is_alive()
    ghost.close()
    holding.join(20)
    life.own.close()
    assert held


def under_way(endpoint: Endpoint) -> Work:
    """Create a delivery whose attempt has started, and return the Work object for settling it."""
    token, now = new_id(), timezone.now()
    delivery = DeliveryFactory(
        chatbot=endpoint.chatbot,
        claim=token,
        claimed_by="1",
        claimed_until=now + timedelta(seconds=30),
    )
    attempt = Attempt.objects.create(delivery=delivery, number=1, started_at=now)
    target = Target(endpoint.url, "", is_active=True, has_add_on=True)
    return Work(delivery.pk, token, attempt.pk, endpoint.chatbot_id, 1, False, b"{}", target)


def test_two_workers_that_settle_the_same_endpoints_do_not_deadlock(endpoint: Endpoint) -> None:
    endpoints = EndpointFactory.create_batch(6)
    faults = []

    def settle(works: list[Work], together: threading.Barrier) -> None:
        together.wait(30)
        try:
            schedule._settle_all([(work, BROKEN) for work in works])
        except Exception as error:  # any error fails the test
            faults.append(error)

    for _ in range(5):
        together = threading.Barrier(2)
        orders = endpoints, endpoints[::-1]
        threads = [in_a_thread(settle, [*map(under_way, each)], together) for each in orders]
        for thread in threads:
            thread.join(60)
    assert faults == []
    assert set(
        Endpoint.objects.filter(pk__in=[one.pk for one in endpoints]).values_list(
            "failures_in_a_row", flat=True
        )
    ) == {10}


def test_a_row_that_is_locked_elsewhere_delays_only_its_own_delivery(
    endpoint: Endpoint, limits: None
) -> None:
    DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot)
    claimed = claims.claim(liveness.ME, slots=8)
    works = [schedule.confirm(one, worker=liveness.ME) for one in claimed]
    locked, free = (Delivery.objects.filter(pk=work.delivery_id) for work in works)
    with transaction.atomic():
        locked.select_for_update().get()
        threads = [in_a_thread(schedule.settle, work, TAKEN) for work in works]
        wait_until(lambda: free.get().state == "SUCCESS")
        assert locked.get().state == "PENDING"
    for thread in threads:
        thread.join()
    assert locked.get().state == "SUCCESS"
