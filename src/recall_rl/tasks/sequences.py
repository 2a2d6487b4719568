"""The paper's task sequences by name, and the user's own as a comma-separated list."""

from __future__ import annotations

from collections.abc import Mapping

from recall_rl.errors import UsageError, unknown
from recall_rl.tasks.gymnasium import PREFIX, gymnasium_task
from recall_rl.tasks.metaworld import CW10, metaworld_task
from recall_rl.tasks.own import OwnTask, own_task
from recall_rl.tasks.probes import PROBE_SEQUENCES, probe_task
from recall_rl.tasks.protocol import Protocol
from recall_rl.tasks.task import Sequence, Task, one_by_one

CW3: tuple[tuple[str, str, str], ...] = (
    ("push", "window-close", "hammer"),
    ("hammer", "window-close", "faucet-close"),
    ("stick-pull", "push-back", "push-wall"),
    ("push-wall", "shelf-place", "push-back"),
    ("faucet-close", "shelf-place", "push-back"),
    ("stick-pull", "peg-unplug-side", "stick-pull"),
    ("window-close", "handle-press-side", "peg-unplug-side"),
    ("faucet-close", "shelf-place", "peg-unplug-side"),
)
"""The eight triplets of the paper's appendix A."""


PAPER_SEQUENCES: dict[str, tuple[str, ...]] = {
    **{f"cw3-{i + 1}": triplet for i, triplet in enumerate(CW3)},
    **{f"cw6-{i + 1}": triplet * 2 for i, triplet in enumerate(CW3)},
    "cw10": CW10,
    "cw20": CW10 * 2,
    **{f"pair-{i}-{j}": (CW10[i], CW10[j]) for i in range(10) for j in range(10)},
}
"""Every named sequence of the paper; pairs are numbered by position in cw10."""


def task_names(text: str) -> tuple[str, ...]:
    """The task names that a sequence's name or a comma-separated list stands for."""
    if text in PAPER_SEQUENCES:
        return PAPER_SEQUENCES[text]
    names = tuple(n.strip() for n in PROBE_SEQUENCES.get(text, text).split(","))
    if not all(names):
        raise UsageError(f"The sequence {text!r} has an empty task name; write it as task,task,…")
    return names


_NAMED = {tasks: name for name, tasks in PAPER_SEQUENCES.items()}


def sequence_name(tasks: tuple[str, ...]) -> str:
    """The paper's name of these tasks in a row, if it has one, else the tasks themselves."""
    return _NAMED.get(tasks, ",".join(tasks))


def natural_protocol(text: str) -> str:
    """The protocol a sequence is run under when none is asked for."""
    return "cw" if any(name in CW10 for name in task_names(text)) else "own"


def used(own: Mapping[str, OwnTask], names: tuple[str, ...]) -> dict[str, OwnTask]:
    """Those of one's own tasks that a sequence names, in its order; none may have a name that is taken."""
    for name in own:
        if name in (*CW10, *PAPER_SEQUENCES, *PROBE_SEQUENCES) or probe_task(name):
            raise UsageError(f"A task of your own cannot be called {name!r}: that name is taken.")
    return {name: own[name] for name in names if name in own}


_NO_TASKS: dict[str, OwnTask] = {}


def task(name: str, protocol: Protocol, own: Mapping[str, OwnTask] = _NO_TASKS) -> Task:
    """The task of this name, one's own or ours, posed as the protocol says."""
    if name in CW10:
        return metaworld_task(name, protocol)
    if protocol.reward != "own":
        if name in own or name.startswith(PREFIX) or probe_task(name):
            raise UsageError(f"The task {name!r} has its own rewards: run it with --protocol own, not {protocol.name}.")
    elif name in own:
        return own_task(own[name], protocol.horizon)
    elif name.startswith(PREFIX):
        return gymnasium_task(name.removeprefix(PREFIX), horizon=protocol.horizon)
    elif probe := probe_task(name):
        return probe
    known = [*own, *CW10, *PAPER_SEQUENCES, *PROBE_SEQUENCES, "reach-0"]
    raise unknown("task or sequence", name, known, "`recall list tasks` and `recall list sequences` show them all.")


def sequence(text: str, protocol: Protocol, own: Mapping[str, OwnTask] = _NO_TASKS) -> Sequence:
    """The sequence of this name, or of these comma-separated tasks, one stage a task."""
    return one_by_one(text, tuple(task(name, protocol, own) for name in task_names(text)))
