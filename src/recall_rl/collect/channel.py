"""Requests from the learner to a worker: small parts through a socket, arrays through shared memory.

Weights go to a worker with every chunk; as bytes in a socket they would cost more than the steps they are for.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from multiprocessing.connection import Connection
from typing import Any

_LINE = 64
"""Arrays begin at multiples of a cache line."""
_FIRST_SIZE = 1 << 20


def shared_file() -> int:
    """A file descriptor of memory that a child process can inherit."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("recall-rl")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class Sender:
    """The learner's end; a message may be sent when the last one has been answered."""

    def __init__(self, connection: Connection, file: int):
        self._connection, self._file = connection, file
        self._grow(_FIRST_SIZE)

    def _grow(self, size: int) -> None:
        os.ftruncate(self._file, size)
        self._memory = mmap.mmap(self._file, size)

    def send(self, message: Any) -> None:
        """Put the arrays of a message in shared memory and the rest in the socket."""
        if self._file < 0:
            raise OSError("This channel is closed.")
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        views = [buffer.raw() for buffer in buffers]
        places: list[tuple[int, int]] = []
        end = 0
        for view in views:
            places.append((end, end + view.nbytes))
            end += -(-view.nbytes // _LINE) * _LINE
        if end > len(self._memory):
            self._grow(2 * end)
        for (start, stop), view in zip(places, views, strict=True):
            self._memory[start:stop] = view
        self._connection.send((len(self._memory), places, data))

    def close(self) -> None:
        """Let go of the connection and of the memory; once is enough, twice does no harm."""
        self._connection.close()
        if self._file >= 0:
            self._memory.close()
            os.close(self._file)
            self._file = -1


class Receiver:
    """The worker's end; the arrays of a message are valid until it is answered."""

    def __init__(self, connection: Connection, file: int):
        self._connection, self._file = connection, file
        self._memory: mmap.mmap | None = None

    def receive(self) -> Any:
        """The next message."""
        size, places, data = self._connection.recv()
        if self._memory is None or len(self._memory) != size:
            self._memory = mmap.mmap(self._file, size)
        view = memoryview(self._memory).toreadonly()
        return pickle.loads(data, buffers=[view[start:stop] for start, stop in places])
