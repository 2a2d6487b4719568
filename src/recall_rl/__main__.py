"""`python -m recall_rl` is `recall`."""

from recall_rl.cli.main import entry

entry()
