"""Routes for pages that need no sign-in."""

from django.urls import path

from accounts import public_pages as pages

urlpatterns = [
    path("invitation", pages.invitation_link, name="invitation"),
    path("invitation/<uuid:invitation_id>", pages.invitation_page, name="invitation_page"),
    path("password-reset", pages.ForgotView.as_view(), name="password_reset"),
    path("password-reset/sent", pages.ForgotDoneView.as_view(), name="password_reset_done"),
    path(
        "password-reset/done", pages.NewPasswordDoneView.as_view(), name="password_reset_complete"
    ),
    path(
        "password-reset/<uidb64>/<token>",
        pages.NewPasswordView.as_view(),
        name="password_reset_confirm",
    ),
]
