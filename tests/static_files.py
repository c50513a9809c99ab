"""The packages' static files, found once for all test clients.

A service creates its middleware once. Each test client creates its own, whose search for all files
would take longer than most requests.
"""

from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware


def find_once() -> None:
    """Share the files that the first middleware finds with all later ones."""
    find, found = WhiteNoiseMiddleware.add_files_from_finders, dict[str, Any]()

    def add(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            own, middleware.files = middleware.files, found
            find(middleware)
            middleware.files = own
        middleware.files |= found

    WhiteNoiseMiddleware.add_files_from_finders = add
