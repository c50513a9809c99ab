"""Pages of people who are not signed in."""

from django.urls import path

from accounts.admin.invitation import invitation

urlpatterns = [path("invitation", invitation, name="invitation")]
