"""A thread pool that survives a shortage of threads."""

from concurrent.futures import ThreadPoolExecutor


class ThreadPool(ThreadPoolExecutor):
    """A ThreadPoolExecutor whose `submit` raises RuntimeError only if the task will never run.

    The standard library's `submit` queues a task before it starts a thread. If the thread cannot be
    started, `submit` raises RuntimeError, but the task still runs once another thread is free.
    """

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                self._work_queue.get_nowait()
                raise
