"""Simplify the Content-Type header before Django parses it. Open point: status-closed."""

import re

LONGEST_TYPE = 500  # characters of a Content-Type header that are read; the rest is ignored
BOUNDARY = re.compile(r"""\bboundary="?([-\w'()+,./:=? ]{1,70})""", re.ASCII | re.IGNORECASE)


def plain_type(value: str) -> str:
    """Return a content type without its parameters, except for the boundary of a form.

    The time that Django takes to parse parameters is quadratic in their number. A charset such as
    hex would raise an error outside Django's middleware. The charset is not needed, because bodies
    and forms are always UTF-8.
    """
    kind, _, parameters = value[:LONGEST_TYPE].partition(";")
    found = BOUNDARY.search(parameters)
    return f'{kind}; boundary="{found[1]}"' if found else kind
