"""Measure the time to first byte and the web server's memory when exporting a million rows."""

import time
from pathlib import Path
from typing import Any

import requests
from django.db import connection
from django.urls import reverse

from tests.factories import bulk
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory
from tests.servers.processes import stat
from tests.tools.bench.lists import AGES
from tests.tools.bench.servers import service

DELIVERIES = 1_000_000


def memory(group: int) -> int:
    """Return the resident memory of a process group, in bytes."""
    pages = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = stat(entry.name)
        except OSError:
            continue
        if int(fields[2]) == group:
            pages += int(fields[21])
    return pages * 4_096


def measure(size: float) -> dict[str, Any]:
    """Start an export to warm up, then measure another export and return its figures.

    Asserts that the measured export contains every row.
    """
    count = round(DELIVERIES * size)
    row = DeliveryFactory(chatbot=ChatbotFactory(), state="SUCCESS", due_at=None, last_code=200)
    bulk.copy(row, count - 1, {"created_at": AGES[connection.vendor], "position": "s.n"})
    bulk.settle()
    cookies = {"sessionid": signed_in(superuser()).cookies["sessionid"].value}
    with service() as web:
        assert web.running
        address = web.address + reverse("admin:webhooks_delivery_export", args=["csv"])
        requests.get(address, cookies=cookies, stream=True, timeout=60).close()
        idle = most = memory(web.running.pid)
        began = time.perf_counter()
        lines, first = 0, 0.0
        with requests.get(address, cookies=cookies, stream=True, timeout=60) as answer:
            for piece in answer.iter_content(None):
                first = first or time.perf_counter() - began
                lines += piece.count(b"\n")
                most = max(most, memory(web.running.pid))
        whole = time.perf_counter() - began
    assert lines == count + 1
    return {
        "export_rows": count,
        "export_first_byte_s": first,
        "export_whole_s": whole,
        "export_memory_idle_mb": idle / 1e6,
        "export_memory_above_idle_mb": (most - idle) / 1e6,
    }
