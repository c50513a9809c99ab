"""Metrics for Prometheus."""

from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest


def metrics(request: HttpRequest) -> HttpResponse:
    """Return this process's metrics in the Prometheus format."""
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)
