"""Routes for pages that need no sign-in."""

from django.urls import path

from accounts.admin.invitation import invitation

urlpatterns = [path("invitation", invitation, name="invitation")]
