"""All routes. The specification fixes the API's paths, so no router generates them."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView, TemplateView

from config.api.document import openapi
from config.runtime import health

admin.autodiscover()
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("api/", include("chatbots.urls")),
    path("api/", include("conversations.urls")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("openapi.json", openapi, name="openapi"),
    path("docs", TemplateView.as_view(template_name="docs.html"), name="docs"),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", include("conversations.metrics")),
]
handler400 = "config.api.errors.bad_request"
handler403 = "config.api.errors.permission_denied"
handler404 = "config.api.errors.page_not_found"
handler500 = "config.api.errors.server_error"
