"""A job that runs in this process: what it prints goes to the terminal and to its log."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO


class Tee:
    """A terminal stream that is kept in a log as well; everything else is the terminal's."""

    def __init__(self, stream: Any, log: BinaryIO) -> None:
        self._stream = stream
        self._log = log

    def write(self, text: str) -> int:
        """Write to both; a progress bar repainting its line is not worth keeping."""
        if "\r" not in text:
            self._log.write(text.encode(errors="replace"))
            self._log.flush()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def kept(log: BinaryIO) -> Iterator[None]:
    """Keep in `log` what is printed meanwhile."""
    with (
        contextlib.redirect_stdout(Tee(sys.stdout, log)),
        contextlib.redirect_stderr(Tee(sys.stderr, log)),
    ):
        yield
