"""Search the packages for static files only once, instead of once for each test client.

The service creates its middleware once, but each test client creates new middleware. The search for
static files takes longer than most requests.
"""

from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware


def find_once() -> None:
    """Make all later instances of the middleware reuse the files that the first one finds."""
    find, found = WhiteNoiseMiddleware.add_files_from_finders, dict[str, Any]()

    def add(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            own, middleware.files = middleware.files, found
            find(middleware)
            middleware.files = own
        middleware.files |= found

    WhiteNoiseMiddleware.add_files_from_finders = add
