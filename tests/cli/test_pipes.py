"""Output that is read in part, as in `recall list | head`, ends quietly."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("words", [("--help",), ("list", "--json")])
def test_a_reader_that_leaves_early_gets_no_traceback(words):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "recall_rl", *words], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode == 141
    assert done.stderr == ""
