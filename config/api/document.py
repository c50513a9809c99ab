"""The OpenAPI document as it is served: built once in each process."""

import threading
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

building = threading.Lock()


@cache
def document() -> bytes:
    """Build the document, which takes a good part of a second."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    rendered: bytes = OpenApiJsonRenderer().render(schema, renderer_context={})
    return rendered


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Serve the document."""
    with building:  # first callers wait for one build instead of each making their own
        body = document()
    return HttpResponse(body, content_type=OpenApiJsonRenderer.media_type)
