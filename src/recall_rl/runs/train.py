"""Training into a run folder: the loop, with journal and weights hanging off it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_rl.errors import RunError
from recall_rl.runs.config import Config, resolve
from recall_rl.runs.directory import WEIGHTS, Journal, RunDirectory
from recall_rl.tasks.sequences import sequence

if TYPE_CHECKING:
    from recall_rl.training.loop import Progress


def default_path(config: Config) -> Path:
    """`runs/` and a name that tells the run's method, sequence, protocol, budget and seed."""
    name = "-".join((config.label(), config.sequence, config.protocol.name, config.budget, f"seed{config.seed}"))
    return Path("runs") / "".join(c if c.isalnum() or c in "-+@._" else "_" for c in name)[:120]


@contextmanager
def _threads(count: int) -> Generator[None]:
    """JAX's threads on the CPU are counted once, when its first array is made; workers set their own."""
    before = os.environ.get("NPROC")
    os.environ["NPROC"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["NPROC"]
        else:
            os.environ["NPROC"] = before


def run(config: Config, directory: RunDirectory, debug: bool = False) -> Iterator[Progress]:
    """Train as the config says, noting everything in the folder; yields after every chunk."""
    with _threads(config.machine.threads):
        import jax

        jax.devices()
        from recall_rl.methods.find import method
        from recall_rl.runs.fingerprint import fingerprint
        from recall_rl.runs.weights import save_weights
        from recall_rl.training.describe import describe
        from recall_rl.training.loop import Setup, learn
        from recall_rl.training.team import Team

    tasks = sequence(config.sequence, config.protocol)
    journal = Journal(directory)
    try:
        with Team(config.machine, inline=debug, log=None if debug else directory.log) as team:
            spaces = describe(team.collecting[0], tasks)
            journal.write(
                "run",
                identity=config.identity(),
                tasks=[task.name for task in tasks.tasks],
                reproducible=spaces.reproducible,
                fingerprint=fingerprint(config.machine.threads),
            )
            chosen = method(config.method, config.options)
            setup = Setup(tasks, chosen, config.protocol, config.agent, config.training, config.seed, spaces.row)
            progress = None
            with jax.disable_jit(debug):
                for progress in learn(setup, team, compiled=not debug):
                    note(journal, progress)
                    yield progress
        assert progress is not None
        save_weights(progress.agent, directory.path / WEIGHTS, {"identity": config.identity()})
        journal.write("end", step=progress.step)
    except RunError as error:
        journal.write("failed", reason=str(error))
        raise
    finally:
        journal.close()


def note(journal: Journal, progress: Progress) -> None:
    """Write what became known with a chunk."""
    if progress.evaluation is not None:
        journal.write("evaluation", **dataclasses.asdict(progress.evaluation))
    if progress.report is not None:
        journal.write("training", stage=progress.stage, **dataclasses.asdict(progress.report))


def train(
    sequence: str,
    method: str = "fine-tuning",
    *,
    protocol: str | None = None,
    budget: str = "laptop",
    seed: int = 0,
    out: str | Path | None = None,
    settings: Mapping[str, Any] | Sequence[str] = (),
    debug: bool = False,
) -> RunDirectory:
    """Train a method on a sequence, as `recall train` does without its display, and return the run's folder."""
    pairs = [f"{k}={v}" for k, v in settings.items()] if isinstance(settings, Mapping) else list(settings)
    config = resolve(
        method=method, sequence=sequence, protocol_name=protocol, budget_name=budget, seed=seed, settings=pairs
    )
    directory = RunDirectory.create(Path(out) if out else default_path(config), config)
    for _ in run(config, directory, debug):
        pass
    return directory
