"""Serve the OpenAPI document, built once per process."""

import threading
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

building = threading.Lock()


@cache
def document() -> bytes:
    """Build the document. The result is cached, because building it takes most of a second."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    rendered: bytes = OpenApiJsonRenderer().render(schema, renderer_context={})
    return rendered


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Return the document as JSON."""
    with building:  # drf-spectacular cannot build two documents at a time
        body = document()
    return HttpResponse(body, content_type=OpenApiJsonRenderer.media_type)
