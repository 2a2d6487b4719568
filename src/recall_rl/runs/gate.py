"""The retention gate: an old and a new policy play the same episodes until it is clear whether a skill was lost."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_rl.analysis.retention import Pairs, Risk, Verdict, judge, risk
from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.play import Episode
from recall_rl.collect.policy import Actor
from recall_rl.collect.worker import Job, Play, ProcessWorker, Worker, answer, ask
from recall_rl.errors import UsageError
from recall_rl.runs.cores import cores
from recall_rl.runs.evaluate import positions
from recall_rl.runs.policy import Policy, read_policy
from recall_rl.tasks.protocol import Protocol
from recall_rl.tasks.sequences import task as find_task
from recall_rl.tasks.task import Task

ROUND = 10
"""Pairs of a task that are played between two looks at the evidence."""


@dataclass(frozen=True)
class Skill:
    """How one old skill fared."""

    position: int
    """Of the task in the old policy."""
    task: str
    verdict: Verdict
    pairs: int
    """Pairs of episodes played."""
    lost: int
    """Pairs in which only the old policy succeeded."""
    gained: int
    """Pairs in which only the new one did."""
    old: float
    """Success rate of the old policy."""
    new: float
    """Success rate of the new one."""
    drop: float
    """Drop of success that was seen: old minus new."""
    low: float
    """The true drop is at least this."""
    high: float
    """The true drop is at most this."""

    @property
    def note(self) -> str:
        """What else there is to know."""
        return "" if self.old else "the old policy never succeeded here: nothing to lose"


@dataclass(frozen=True)
class Gate:
    """What the gate says."""

    verdict: Verdict
    """pass: no skill lost `max_drop` or more; fail: one did; undecided: neither was shown, which does not pass."""
    old: str
    new: str
    max_drop: float
    alpha: float
    """Probability of a wrong pass, and of a wrong fail, at most."""
    episodes: int
    """Most pairs a task."""
    seed: int
    stochastic: bool
    """Whether actions were sampled."""
    skills: tuple[Skill, ...]

    @property
    def played(self) -> int:
        """Pairs of all tasks."""
        return sum(skill.pairs for skill in self.skills)

    def sentence(self) -> str:
        """The answer in words."""
        saved = f"{self.played:,} of at most {self.episodes * len(self.skills):,} pairs of episodes were needed"
        worst = [s.task for s in self.skills if s.verdict == self.verdict]
        if self.verdict == "pass":
            return f"PASS: no old skill lost {self.max_drop:g} or more. {saved}."
        if self.verdict == "fail":
            return f"FAIL: more than {self.max_drop:g} was lost on {', '.join(worst)}. {saved}."
        return (
            f"UNDECIDED, which does not pass: {self.episodes} pairs do not show whether {self.max_drop:g} was lost on "
            f"{', '.join(worst)}. Raise --episodes or --max-drop."
        )


@dataclass(frozen=True)
class _Trial:
    """A task under test, and what was seen of it."""

    position: int
    task: Task
    old: Actor
    new: Actor
    episodes: tuple[tuple[Episode, Episode], ...] = ()

    def pairs(self) -> Pairs:
        lost = sum(old.success and not new.success for old, new in self.episodes)
        gained = sum(new.success and not old.success for old, new in self.episodes)
        return Pairs(lost, gained, len(self.episodes) - lost - gained)

    def skill(self, max_drop: float, granted: Risk) -> Skill:
        pairs, n = self.pairs(), len(self.episodes)
        found = judge(pairs, max_drop, granted)
        old, new = (sum(pair[k].success for pair in self.episodes) / n for k in (0, 1))
        return Skill(
            self.position,
            self.task.name,
            found.verdict,
            n,
            pairs.lost,
            pairs.gained,
            old,
            new,
            found.drop,
            found.low,
            found.high,
        )


def _posed(given: Protocol) -> Protocol:
    """What of a protocol decides whether an episode succeeds."""
    return dataclasses.replace(given, name="", sentence="", episodes=1, stochastic=True, stop_at_success=True)


def _partners(old: Policy, new: Policy, tasks: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of the old policy's tasks and of the same in the new one; a task met twice has its first and second."""
    if _posed(old.about.protocol) != _posed(new.about.protocol):
        raise UsageError(
            f"The policies were trained under different protocols ({old.about.protocol.name} and "
            f"{new.about.protocol.name}), so they cannot play the same episodes."
        )
    found: list[tuple[int, int]] = []
    for p in positions(old, tasks):
        name = old.about.tasks[p]
        places = [q for q, other in enumerate(new.about.tasks) if other == name]
        nth = old.about.tasks[:p].count(name)
        if nth >= len(places):
            raise UsageError(
                f"The new policy does not know the old task {name!r}; it knows {', '.join(new.about.tasks)}. "
                "Choose tasks with --task, or check that OLD and NEW are the right way round."
            )
        if _sizes(old.actors[p]) != _sizes(new.actors[places[nth]]):
            raise UsageError(f"The two policies see or do numbers of different count in the task {name!r}.")
        found.append((p, places[nth]))
    return found


def _sizes(actor: Actor) -> tuple[int, int]:
    return actor.layers[0].w.shape[0], actor.layers[-1].w.shape[1]


def _play(team: Sequence[Worker], trials: Sequence[_Trial], count: int, seed: int, stochastic: bool) -> list[_Trial]:
    """The trials with `count` more pairs each."""
    jobs = [
        Job(trial.task, Address(seed, Purpose.GATE, 0, trial.position, number), actor)
        for trial in trials
        for number in range(len(trial.episodes), len(trial.episodes) + count)
        for actor in (trial.old, trial.new)
    ]
    n = len(team)
    shares = [jobs[len(jobs) * k // n : len(jobs) * (k + 1) // n] for k in range(n)]
    asked = [(w, Play(tuple(s), stochastic, stop_at_success=True)) for w, s in zip(team, shares, strict=True) if s]
    for worker, request in asked:
        ask(worker, request)
    played: list[Episode] = [e for worker, request in asked for e in answer(worker, request)]
    pairs = list(zip(played[::2], played[1::2], strict=True))
    return [
        dataclasses.replace(trial, episodes=(*trial.episodes, *pairs[count * k : count * (k + 1)]))
        for k, trial in enumerate(trials)
    ]


def _verdict(skills: Sequence[Skill]) -> Verdict:
    if any(skill.verdict == "fail" for skill in skills):
        return "fail"
    return "pass" if all(skill.verdict == "pass" for skill in skills) else "undecided"


def _refuse(max_drop: float, alpha: float, episodes: int, seed: int, workers: int | None) -> None:
    """Refuse what cannot be asked."""
    if not 0 < max_drop < 1:
        raise UsageError("--max-drop is a drop of the success rate, more than 0 and less than 1.")
    if not 0 < alpha <= 0.5:
        raise UsageError("--alpha is the probability of a wrong answer, more than 0 and at most 0.5.")
    if episodes < 1 or (workers is not None and workers < 1):
        raise UsageError("--episodes and --workers must be positive.")
    if seed < 0:
        raise UsageError("--seed must not be negative.")


def gate(
    old: str | Path,
    new: str | Path,
    max_drop: float = 0.05,
    *,
    episodes: int = 500,
    tasks: Sequence[str] = (),
    alpha: float = 0.05,
    seed: int = 0,
    deterministic: bool = False,
    workers: int | None = None,
    trust_code: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Gate:
    """Whether the new policy kept what the old one could do, as `recall gate` says.

    Both play the same episodes of every task that the old one knows, and each task stops as soon as its answer is
    clear. The number of workers changes nothing.
    """
    _refuse(max_drop, alpha, episodes, seed, workers)
    before, after = read_policy(Path(old), None, trust_code), read_policy(Path(new), None, trust_code)
    protocol = before.about.protocol
    waiting = [
        _Trial(p, find_task(before.about.tasks[p], protocol, before.about.own), before.actors[p], after.actors[q])
        for p, q in _partners(before, after, tasks)
    ]
    stochastic = protocol.stochastic and not deterministic
    granted = risk(alpha, len(waiting))
    team = [ProcessWorker(60.0) for _ in range(workers or cores())]
    done: list[Skill] = []
    try:
        while waiting:
            count = min(ROUND, episodes - len(waiting[0].episodes))
            played = _play(team, waiting, count, seed, stochastic)
            skills = [trial.skill(max_drop, granted) for trial in played]
            over = [s.verdict != "undecided" or s.pairs == episodes for s in skills]
            done += itertools.compress(skills, over)
            waiting = [trial for trial, ended in zip(played, over, strict=True) if not ended]
            tell(f"{skills[0].pairs} pairs a task; still open: {', '.join(t.task.name for t in waiting) or 'none'}")
    finally:
        for worker in team:
            worker.close()
    if not any(skill.old or skill.new for skill in done):
        raise UsageError(
            "Neither policy succeeded in any episode, so there is no success to compare. A Gymnasium environment "
            'reports it as info["success"].'
        )
    skills = tuple(sorted(done, key=lambda skill: skill.position))
    return Gate(_verdict(skills), str(old), str(new), max_drop, alpha, episodes, seed, stochastic, skills)
