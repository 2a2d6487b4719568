"""The worker process: `python -m recall_rl.collect FD PARENT`."""

import sys
import threading
from multiprocessing.connection import Connection

from recall_rl.collect.worker import leave_with, serve

threading.Thread(target=leave_with, args=(int(sys.argv[2]),), daemon=True).start()
serve(Connection(int(sys.argv[1])))
