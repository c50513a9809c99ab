"""Figures for Prometheus."""

from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer the figures of this process as Prometheus reads them."""
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)
