"""Handle SIGHUP, which a closed terminal sends: it stops the service, as SIGTERM does."""

import signal

# Read before Celery or granian sets its own handler
UNDER_NOHUP = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def stop_on_hangup() -> None:
    """Make SIGHUP stop this worker as SIGTERM does, unless nohup has made it ignored.

    With Celery's own handler, the worker would try to restart itself, and fail.
    """
    term = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGHUP, signal.SIG_IGN if UNDER_NOHUP else term)
