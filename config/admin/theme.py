"""The settings of django-unfold, the theme of the admin."""

UNFOLD = {
    "ENVIRONMENT": "conversations.admin.menu.exposure",
    "LOGIN": {"form": "accounts.sign_in.SignInForm"},
    "SITE_TITLE": "Chatbots",
    "SITE_HEADER": "Chatbots",
    "SITE_URL": None,
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "conversations.admin.home.home",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": "conversations.admin.menu.favicon"}
    ],
    "STYLES": ["conversations.admin.menu.stylesheet"],
    "SCRIPTS": [
        f"conversations.admin.menu.{name}_script" for name in ("times", "keyboard", "forms")
    ],
    "SIDEBAR": {"show_search": True, "navigation": "conversations.admin.menu.navigation"},
}
