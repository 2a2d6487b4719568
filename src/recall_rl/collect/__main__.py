"""The worker process: `python -m recall_rl.collect SOCKET MEMORY PARENT`."""

import sys
import threading
from multiprocessing.connection import Connection

from recall_rl.collect.worker import leave_with, serve

socket, memory, parent = map(int, sys.argv[1:])
threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
serve(Connection(socket), memory)
