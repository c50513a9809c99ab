"""Tell whether this worker was asked to stop, so that long work ends early."""

from celery.worker import state


def worker_is_stopping() -> bool:
    """Return whether Celery's worker was asked to stop, by a signal."""
    return state.should_stop is not None or state.should_terminate is not None
