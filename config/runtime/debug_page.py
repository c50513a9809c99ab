"""Hide secrets in Django's debug page and error reports."""

import re
from collections.abc import ItemsView
from types import FrameType
from typing import Any

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class SecretsFilter(SafeExceptionReporterFilter):
    """Hides URLs, which can contain a password, besides the names that Django hides.

    Django hides settings by name. This filter hides the local variables of the traceback too.
    """

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|LOCATION|CONN|DSN",
        flags=re.IGNORECASE,
    )

    def get_traceback_frame_variables(
        self, request: HttpRequest | None, tb_frame: FrameType
    ) -> ItemsView[str, Any]:
        """Return a frame's local variables, without the values of hidden names."""
        found = super().get_traceback_frame_variables(request, tb_frame)
        return {name: self.cleanse_setting(name, value) for name, value in found}.items()
