"""Stop the service on SIGHUP (sent when the terminal closes) in the same way as on SIGTERM."""

import signal

# This must be read before Celery or granian installs its own handler.
UNDER_NOHUP = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def stop_on_hangup() -> None:
    """Make SIGHUP stop this worker as SIGTERM does, unless the worker runs under nohup.

    Celery's own handler would try to restart the worker, and fail.
    """
    term = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGHUP, signal.SIG_IGN if UNDER_NOHUP else term)
