"""All routes. The specification fixes the API's paths, so no router generates them."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView, TemplateView

from config.api.document import openapi
from config.page_limits import limited
from config.runtime import health

# The public documents share one count for each address.
document = limited("documents", lambda: settings.RATE_LIMIT_IP)
docs = TemplateView.as_view(template_name="docs.html")
urlpatterns = [
    path("api/v1/chatting/<str:chatbot_id>/", include("conversations.urls")),
    path("api/", include("chatbots.urls")),
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("openapi.json", document(openapi), name="openapi"),
    path("docs", document(docs), name="docs"),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", include("conversations.metrics")),
]
handler400 = "config.api.errors.bad_request"
handler403 = "config.api.errors.permission_denied"
handler404 = "config.api.errors.page_not_found"
handler500 = "config.api.errors.server_error"
