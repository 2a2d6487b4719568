import os
import socket
from multiprocessing.connection import Connection

import numpy as np

from recall_rl.collect.channel import Receiver, Sender, shared_file


def test_arrays_arrive_whole_whatever_their_size_and_share_nothing_with_the_next_message():
    ours, theirs = socket.socketpair()
    memory = shared_file()
    sender = Sender(Connection(ours.detach()), memory)
    receiver = Receiver(Connection(theirs.detach()), os.dup(memory))
    rng = np.random.default_rng(0)
    for size in (1, 1000, 3_000_000, 10):
        first, second = rng.standard_normal(size).astype(np.float32), rng.integers(0, 9, (2, size))
        sender.send({"a": first, "b": [second, "text", None], "again": first})
        got = receiver.receive()
        np.testing.assert_array_equal(got["a"], first)
        np.testing.assert_array_equal(got["b"][0], second)
        assert got["b"][1:] == ["text", None]
        assert got["again"] is got["a"]
        assert not got["a"].flags.writeable
        assert got["a"].ctypes.data % 64 == 0
