"""Show the errors of a service in a form."""

from django.forms import Form

from config.api.errors import ApiError, InvalidRequest


def show_faults(form: Form, error: ApiError) -> None:
    """Show a service's errors next to their form fields, or above the form if no field matches."""
    faults = (error.errors or []) if isinstance(error, InvalidRequest) else []
    for fault in faults:
        name = fault["path"][0] if fault["path"] else None
        form.add_error(name if name in form.fields else None, fault["message"])
    if not faults:
        form.add_error(None, error.message)
