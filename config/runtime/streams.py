"""Open a command's missing standard streams, and end the command if it cannot write output."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

MODES = {"stdin": os.O_RDONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}


class Output(TextIOWrapper):
    """A standard output stream that ends the process with a one-line message if writing fails."""

    def write(self, text: str) -> int:
        """Write text. Raises SystemExit if that fails."""
        with reporting_failure():
            return super().write(text)

    def flush(self) -> None:
        """Write what is buffered. Raises SystemExit if that fails."""
        with reporting_failure():
            super().flush()


@contextmanager
def reporting_failure() -> Iterator[None]:
    """Turn a failed write to standard output into a SystemExit with a message."""
    try:
        yield
    except OSError as error:
        # Python flushes standard output again at exit. That second flush must not fail.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        message = f"CommandError: cannot write to standard output: {error.strerror}"
        raise SystemExit(message) from None


def prepare() -> None:
    """Open missing standard streams, and end the process if a write to standard output fails.

    If a stream stayed closed, the next file that the process opens would take its place. As in GNU
    tools, a missing standard output is opened for reading, so that writes to it fail. Otherwise, a
    command that prints a new secret could lose it silently.
    """
    for number, (name, mode) in enumerate(MODES.items()):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)  # gets the lowest free descriptor, which is `number`
            os.set_inheritable(opened, True)
            stream = os.fdopen(opened, "r" if name == "stdin" else "w", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # keeps the buffer open for `Output`
    out = sys.stdout
    assert isinstance(out, TextIOWrapper)
    sys.stdout = Output(
        out.buffer,
        encoding=out.encoding,
        errors="backslashreplace",  # a character that the encoding lacks must not stop a command
        line_buffering=out.line_buffering,
        write_through=out.write_through,
    )
