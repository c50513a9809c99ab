"""The transactions of a process take turns at SQLite, and those of two processes do not starve."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from config.models import PeriodicWork
from tests.patience import PATIENCE
from tests.servers.processes import Process, wait_until

pytestmark = [
    pytest.mark.skipif(not settings.EMBEDDED, reason="PostgreSQL has its own locks"),
    pytest.mark.django_db(transaction=True),
]


# Seconds that a writer may wait beside another process that writes without pausing. SQLite lets the
# processes poll for the lock at growing intervals.
LONGEST_WAIT = 5.0


class BusyProcess(Process):
    """A process with eight threads that write without pausing."""

    command = (
        "-c",
        "import django, threading; django.setup()\n"
        "from django.db import transaction; from config.models import PeriodicWork\n"
        "def work(name):\n"
        "    while True:\n"
        "        with transaction.atomic():\n"
        "            PeriodicWork.objects.update_or_create(\n"
        "                name=name, defaults={'due_at': '2020-01-01T00:00:00Z'})\n"
        "for number in range(8): threading.Thread(target=work, args=(str(number),)).start()\n",
    )


def write(name: str) -> None:
    """Store a row from another thread, in a transaction."""

    def run() -> None:
        try:
            with transaction.atomic():
                PeriodicWork.objects.add([name])
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result(PATIENCE)


def commit() -> None:
    with transaction.atomic():
        PeriodicWork.objects.add(["first"])


def roll_back() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        PeriodicWork.objects.add(["first"])
        raise ZeroDivisionError


def fail_to_begin() -> None:
    connection.ensure_connection()
    connection.connection.close()  # as if the file had disappeared
    with pytest.raises(Exception, match="closed database"), transaction.atomic():
        pass
    connection.close()


def close_within() -> None:
    with pytest.raises(Exception, match="closed"), transaction.atomic():
        connection.close()
        PeriodicWork.objects.add(["first"])


@pytest.mark.parametrize("end", [commit, roll_back, fail_to_begin, close_within])
def test_the_next_transaction_starts_once_the_previous_one_has_ended(
    end: Callable[[], None],
) -> None:
    end()
    write("next")
    assert PeriodicWork.objects.filter(name="next").exists()


def test_a_writer_that_waits_too_long_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"]["OPTIONS"], "timeout", 0.2)
    with transaction.atomic():
        PeriodicWork.objects.add(["first"])
        with pytest.raises(OperationalError, match="database is locked"):
            write("next")
    write("next")


def test_fifty_concurrent_writers_lose_nothing() -> None:
    start = timezone.now()
    PeriodicWork.objects.create(name="counter", due_at=start)
    begin = threading.Barrier(50)

    def count(_: int) -> None:
        begin.wait(PATIENCE)
        try:
            with transaction.atomic():
                row = PeriodicWork.objects.get(name="counter")
                row.due_at += timedelta(seconds=1)
                row.save()
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(count, range(50)))
    assert PeriodicWork.objects.get(name="counter").due_at == start + timedelta(seconds=50)


@pytest.mark.parametrize("in_transaction", [True, False])
def test_a_single_writer_waits_briefly_beside_a_busy_process(in_transaction: bool) -> None:
    with BusyProcess() as busy:
        wait_until(lambda: PeriodicWork.objects.count() >= 8, told=busy.said)
        waits = []
        for number in range(60):
            began = time.monotonic()
            if in_transaction:
                with transaction.atomic():
                    PeriodicWork.objects.filter(name="0").update(due_at=timezone.now())
            else:
                PeriodicWork.objects.filter(name=str(number % 8)).update(due_at=timezone.now())
            waits.append(time.monotonic() - began)
            time.sleep(0.01)
    assert max(waits) < LONGEST_WAIT
