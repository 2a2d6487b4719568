"""Run by test_saving.py: one save of a checkpoint, done by a thread whose system calls can be counted and failed.

    python saving.py RUN

Restores the newest checkpoint of a run, says which thread will save and waits for a line; then it saves and prints
"saved", or a sentence.
"""

import sys
import threading
from pathlib import Path

from recall_rl.errors import RunError
from recall_rl.memory.record import moved, restore
from recall_rl.memory.store import Store
from recall_rl.methods.find import method
from recall_rl.methods.method import new_agent
from recall_rl.runs.checkpoint import Checkpointer, latest
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.generation import Start, claim
from recall_rl.runs.journal import Journal, copy_beginning
from recall_rl.runs.state import decode


def main() -> None:
    root = Path(sys.argv[1])
    config, found = RunDirectory(root).config(), latest(root).checkpoint
    assert found is not None
    manifest, generation = found.manifest, claim(root)
    agent = new_agent(method(config.method, config.options), config.agent, manifest.about.row, 3, config.seed)
    snapshot = decode(found.state(), manifest, agent, config.agent.actor.activation)
    import dataclasses

    snapshot = dataclasses.replace(snapshot, memory=moved(snapshot.memory, root, f"{generation.path.name}/memory"))
    memory = restore(snapshot.memory, manifest.about.row, 3, Store(root, generation.memory))
    copy_beginning(found.generation.path, generation.path, manifest.journal)
    journal, checkpoints = Journal(generation.path), Checkpointer(root, generation, manifest.number - 1)

    def save() -> None:
        files = [f for f in (table.open_file() for table in memory.tables()) if f is not None]
        files += journal.open_files()
        checkpoints.save(snapshot, manifest.about, journal.record(), files, wait=True)

    save()
    generation.begin(Start(found.generation.number, manifest.number))
    save()  # Two are there now: the next save also tidies.
    checkpoints._thread.submit(lambda: print(threading.get_native_id(), flush=True)).result()
    sys.stdin.readline()
    try:
        save()
        print("saved", flush=True)
    except RunError as error:
        print(error, flush=True)


if __name__ == "__main__":
    main()
