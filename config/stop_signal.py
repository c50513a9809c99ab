"""Find out whether this worker has been asked to stop, so that long-running work can end early."""

from celery.worker import state


def worker_is_stopping() -> bool:
    """Return whether a signal has asked Celery's worker to stop."""
    return state.should_stop is not None or state.should_terminate is not None
