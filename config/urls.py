"""All routes. The contract fixes the API's paths, so no router generates them."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from config.api.document import openapi
from config.runtime import health, metrics

urlpatterns = [
    path("api/", include("chatbots.urls")),
    path("api/", include("conversations.urls")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("openapi.json", openapi, name="openapi"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="openapi"), name="docs"),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
]
handler400 = "config.api.errors.bad_request"
handler403 = "config.api.errors.permission_denied"
handler404 = "config.api.errors.page_not_found"
handler500 = "config.api.errors.server_error"
