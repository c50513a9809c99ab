"""Helpers that return a thread page's address, its HTML, or the types of the thread's messages."""

from django.test import Client
from django.urls import reverse

from conversations.models import Message, Thread


def at(thread: Thread, name: str = "change") -> str:
    return reverse(f"admin:conversations_thread_{name}", args=[thread.pk])


def text_of(client: Client, address: str) -> str:
    page = client.get(address)
    assert page.status_code == 200
    return page.content.decode()


def kinds(thread: Thread) -> list[str]:
    return list(
        Message.objects.filter(thread=thread)
        .order_by("position")
        .values_list("message_type", flat=True)
    )
