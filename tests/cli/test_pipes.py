"""Output that other programs read: in part, as in `recall list | head`, or line by line, as in `recall runs | grep`."""

import os
import subprocess
import sys

import pytest
from rich.table import Table

from recall_rl.cli.console import console


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


@pytest.mark.parametrize(("columns", "folded"), [(None, False), ("40", True)])
def test_a_row_is_a_line_unless_a_width_is_known(columns, folded, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    table, name = Table(box=None), "a-long-name-" * 20
    table.add_column(overflow="fold")
    table.add_row(name)
    console().print(table)
    assert (name in capsys.readouterr().out) is not folded
