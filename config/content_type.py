"""The Content-Type header that Django receives. Open point: status-closed."""

import re

LONGEST_TYPE = 500  # maximum number of characters to read of a Content-Type header
BOUNDARY = re.compile(r"""\bboundary="?([-\w'()+,./:=? ]{1,70})""", re.ASCII | re.IGNORECASE)


def plain_type(value: str) -> str:
    """Return a content type without its parameters, except for the boundary of a form.

    Django would take quadratic time to parse many parameters, and would fail outside its middleware
    for some charsets, such as hex. Bodies and forms are UTF-8.
    """
    kind, _, parameters = value[:LONGEST_TYPE].partition(";")
    found = BOUNDARY.search(parameters)
    return f'{kind}; boundary="{found[1]}"' if found else kind
