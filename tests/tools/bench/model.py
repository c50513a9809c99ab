"""A slow language model in its own process, which does not load Django."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe

from tests.servers.model import ModelServer, saying


def serve_model(pipe: Pipe, seconds: float) -> None:
    """Run a slow model until the process is killed."""
    with ModelServer() as model:
        model.say(saying("Tomorrow.", delay=seconds))
        pipe.send(model.base_url)
        pipe.recv()


@contextmanager
def slow_model(seconds: float) -> Iterator[str]:
    """Run a model that replies after this many seconds. Yields its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_model, args=(theirs, seconds), daemon=True)
    process.start()
    theirs.close()  # so that recv() fails if the process cannot start
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()
