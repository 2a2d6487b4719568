"""Training into a run folder: the loop, with journal, checkpoints and weights hanging off it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import resource
import shutil
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_rl.errors import RunError, UsageError
from recall_rl.memory.record import moved
from recall_rl.memory.store import Store
from recall_rl.runs.checkpoint import Checkpoint, Checkpointer, latest
from recall_rl.runs.clean import cleaned
from recall_rl.runs.config import Config, resolve
from recall_rl.runs.directory import CONFIG, LOG, WEIGHTS, RunDirectory
from recall_rl.runs.files import file_record, replace_file, write_new
from recall_rl.runs.generation import MEMORY, Generation, Start, claim
from recall_rl.runs.journal import Journal, copy_beginning
from recall_rl.runs.manifest import About, to_plain
from recall_rl.runs.policy import POLICIES, Policy, copy_policies, encode_policy, file_name
from recall_rl.runs.policy import About as AboutPolicy
from recall_rl.runs.stop import Stop, StoppedError, listening
from recall_rl.runs.writer import open_writer
from recall_rl.tasks.sequences import sequence
from recall_rl.tasks.task import Sequence as Tasks

if TYPE_CHECKING:
    from recall_rl.training.loop import Progress, Setup
    from recall_rl.training.snapshot import Snapshot
    from recall_rl.training.team import Team


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


def run(config: Config, directory: RunDirectory, debug: bool = False, take_over: bool = False) -> Iterator[Progress]:
    """Train as the config says, from the beginning or from the last checkpoint; yields after every chunk."""
    generation = claim(directory.path, take_over)
    try:
        with listening() as stop:
            yield from _Training(config, directory, generation, debug, stop).go()
    except BaseException:
        if generation.start() is None:
            shutil.rmtree(generation.path, ignore_errors=True)
        raise
    finally:
        generation.release()


class _Training:
    """One process's work on a run."""

    def __init__(self, config: Config, directory: RunDirectory, generation: Generation, debug: bool, stop: Stop):
        self.config, self.directory, self.generation, self.debug, self.stop = (
            config,
            directory,
            generation,
            debug,
            stop,
        )
        self.tasks: Tasks = sequence(config.sequence, config.protocol)
        self.store = Store(directory.path, generation.memory, config.machine.memory == "disk")
        self.saved = time.monotonic()

    def go(self) -> Iterator[Progress]:
        """Train to the end."""
        with _threads(self.config.machine.threads):
            import jax

            jax.devices()
            from recall_rl.training.loop import learn
            from recall_rl.training.team import Team

        _allow_many_files()
        search = latest(self.directory.path)
        log = None if self.debug else self.generation.path / LOG
        with Team(self.config.machine, inline=self.debug, log=log) as team, contextlib.ExitStack() as self.to_close:
            snapshot = self._go_on(search.checkpoint, search.problems) if search.checkpoint else self._begin(team)
            try:
                with jax.disable_jit(self.debug):
                    for progress in learn(self._setup(), team, self.store, snapshot, compiled=not self.debug):
                        self._note(progress)
                        yield progress
            except RunError as error:
                self._note_failure(error)
                raise

    def _open(self, number: int, step: int = 0) -> None:
        """Open the journal, and be ready to write checkpoints after this number."""
        name, config = self.config.machine.writer, self.config
        writer = open_writer(name, self.directory.path, dataclasses.asdict(config), step) if name else None
        self.journal = Journal(self.generation.path, writer)
        self.to_close.callback(self.journal.close)
        self.checkpoints = Checkpointer(self.directory.path, self.generation, number)
        self.to_close.callback(self.checkpoints.close)

    def _setup(self) -> Setup:
        from recall_rl.methods.find import method
        from recall_rl.training.loop import Setup

        config = self.config
        chosen = method(config.method, config.options)
        return Setup(self.tasks, chosen, config.protocol, config.agent, config.training, config.seed, self.about.row)

    def _begin(self, team: Team) -> None:
        """Start at the beginning."""
        from recall_rl.runs.fingerprint import fingerprint
        from recall_rl.training.describe import describe

        config, spaces = self.config, describe(team.collecting[0], self.tasks)
        self._open(0)
        found = fingerprint(config.machine.threads)
        self.about = About(
            config.identity(),
            file_record(self.directory.path / CONFIG),
            spaces.row,
            spaces.reproducible,
            to_plain(found),
        )
        self.journal.write(
            "run",
            identity=config.identity(),
            tasks=[task.name for task in self.tasks.tasks],
            reproducible=spaces.reproducible,
            fingerprint=found,
        )
        self.generation.begin(Start(None, None))
        self.directory.link(self.generation)

    def _go_on(self, checkpoint: Checkpoint, problems: list[str]) -> Snapshot:
        """Take up the run at a checkpoint: copy what will be appended to, and commit that as the first of our own."""
        from recall_rl.methods.find import method
        from recall_rl.methods.method import new_agent
        from recall_rl.runs.fingerprint import fingerprint
        from recall_rl.runs.state import decode

        config, manifest, root = self.config, checkpoint.manifest, self.directory.path
        self.about = manifest.about
        if manifest.about.identity != config.identity():
            raise UsageError(f"{root} holds another run than its {CONFIG} says.")
        chosen = method(config.method, config.options)
        agent = new_agent(chosen, config.agent, manifest.about.row, len(self.tasks), config.seed)
        snapshot = decode(checkpoint.state(), manifest, agent, config.agent.actor.activation)
        memory = moved(snapshot.memory, root, f"{self.generation.path.name}/{MEMORY}")
        snapshot = dataclasses.replace(snapshot, memory=memory)
        copy_beginning(checkpoint.generation.path, self.generation.path, manifest.journal)
        copy_policies(checkpoint.generation.path, self.generation.path, manifest.mark.stage)
        self._open(manifest.number - 1, manifest.step)
        found = to_plain(fingerprint(config.machine.threads))
        if found != self.about.fingerprint:
            changed = {k: v for k, v in found.items() if v != self.about.fingerprint.get(k)}
            self.journal.write("moved", step=manifest.step, changed=changed)
            self.about = dataclasses.replace(self.about, fingerprint=found)
        self.journal.note_time("resumed", step=manifest.step, problems=problems)
        self.checkpoints.save(snapshot, self.about, self.journal.record(), self.journal.open_files(), wait=True)
        self.generation.begin(Start(checkpoint.generation.number, manifest.number))
        self.directory.link(self.generation)
        return snapshot

    def _note(self, progress: Progress) -> None:
        """Write what became known with a chunk, and a checkpoint if it is time for one."""
        self.generation.alive()
        if progress.given_up > self.about.given_up:
            self.about = dataclasses.replace(self.about, given_up=progress.given_up)
            self.journal.write("gap", step=progress.step, episodes=progress.given_up)
        note(self.journal, progress)
        if progress.finished:
            return self._finish(progress)
        if progress.stage_ended:
            self._keep_policy(progress)
        if self.stop.asked is not None:
            self._save(progress, wait=True)
            self.journal.note_time("stopped", step=progress.step)
            raise StoppedError(
                self.stop.asked,
                f"stopped and saved at step {progress.step:,}; go on with: recall resume {self.directory.path}",
            )
        due = time.monotonic() - self.saved >= self.config.machine.checkpoint_seconds
        if progress.stage_ended or (due and not self.checkpoints.busy()):
            self._save(progress)

    def _keep_policy(self, progress: Progress) -> None:
        """Write what acts now that a stage has ended."""
        config, found, stage = self.config, progress.policy(), progress.stage + 1
        about = AboutPolicy(
            method=config.label(),
            seed=config.seed,
            step=progress.step,
            stage=stage,
            budget=config.budget,
            protocol=config.protocol,
            tasks=tuple(self.tasks.tasks[position].name for position, _ in found),
            activation=config.agent.actor.activation,
            results_version=config.results_version,
        )
        folder = self.generation.path / POLICIES
        try:
            folder.mkdir(exist_ok=True)
            replace_file(folder / file_name(stage), encode_policy(Policy(about, tuple(actor for _, actor in found))))
        except OSError as error:
            raise RunError(f"The policy of stage {stage} could not be written: {error.strerror}.") from error

    def _finish(self, progress: Progress) -> None:
        from recall_rl.runs.weights import encode_weights

        content = encode_weights(progress.agent, {"identity": self.config.identity()})
        path = self.generation.path / WEIGHTS
        path.unlink(missing_ok=True)
        weights = write_new(path, content)
        self.journal.write("end", step=progress.step)
        self.about = dataclasses.replace(self.about, finished=True, weights=weights)
        self._save(progress, wait=True)

    def _save(self, progress: Progress, wait: bool = False) -> None:
        self.checkpoints.wait()
        snapshot = progress.snapshot()
        files = [f for f in (table.open_file() for table in progress.tables()) if f is not None]
        files += self.journal.open_files()
        self.checkpoints.save(snapshot, self.about, self.journal.record(), files, wait)
        self.saved = time.monotonic()

    def _note_failure(self, error: RunError) -> None:
        # The disk may be what failed; the sentence is on the screen.
        with contextlib.suppress(RunError):
            self.journal.write("failed", reason=str(error))


def _allow_many_files() -> None:
    """Every mapped table takes a descriptor; hundreds of tasks have more than the usual soft limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


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
    """Train a method on a sequence, as `recall train` does without its display, and return the run's folder.

    A run that was interrupted goes on; one that is finished is returned as it is.
    """
    pairs = [f"{k}={v}" for k, v in settings.items()] if isinstance(settings, Mapping) else list(settings)
    config = resolve(
        method=method, sequence=sequence, protocol_name=protocol, budget_name=budget, seed=seed, settings=pairs
    )
    directory = RunDirectory.create(Path(out) if out else default_path(config), config)
    _to_the_end(config, directory, debug)
    return directory


def resume(run: str | Path, *, trust_code: bool = False, take_over: bool = False, debug: bool = False) -> RunDirectory:
    """Go on with a run, as `recall resume` does without its display, and return the run's folder."""
    directory = RunDirectory.existing(Path(run))
    _to_the_end(directory.config(trust_code), directory, debug, take_over)
    return directory


def _to_the_end(config: Config, directory: RunDirectory, debug: bool, take_over: bool = False) -> None:
    if not finished(directory):
        for _ in run(config, directory, debug, take_over):
            pass


def finished(directory: RunDirectory) -> bool:
    """Whether nothing is left to do; what the run holds is verified then."""
    if cleaned(directory.path):
        return True
    found = latest(directory.path, verify_memory=False).checkpoint
    if found is None or not found.manifest.about.finished:
        return False
    return latest(directory.path).checkpoint is not None
