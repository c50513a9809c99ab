"""Define the URLs that the specification prescribes for threads and messages."""

from django.urls import path

from conversations.viewsets.message import MessageViewSet
from conversations.viewsets.thread import ThreadViewSet

THREAD = "thread/<str:thread_id>"

urlpatterns = [
    path("threads", ThreadViewSet.as_view({"get": "list", "post": "create"})),
    path("thread/update-thread", ThreadViewSet.as_view({"patch": "update"})),
    path(THREAD, ThreadViewSet.as_view({"get": "retrieve"})),
    path(f"{THREAD}/escalate", ThreadViewSet.as_view({"patch": "escalate", "post": "escalate"})),
    path(f"{THREAD}/messages", MessageViewSet.as_view({"get": "list"})),
    path(f"{THREAD}/message", MessageViewSet.as_view({"post": "create"})),
    path("message/<str:message_id>", MessageViewSet.as_view({"patch": "update"})),
]
