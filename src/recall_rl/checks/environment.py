"""Whether an environment can be learnt on, and if not, why: it is tried in processes of its own, as training does."""

from __future__ import annotations

from collections.abc import Callable

from recall_rl.checks.finding import Finding, good, note, wrong
from recall_rl.checks.look import Seen, ending, first_difference, size
from recall_rl.collect.worker import Look, ProcessWorker, Worker
from recall_rl.errors import RunError, UsageError
from recall_rl.tasks.task import Task

_COMPARED = 300
"""Steps of the episode that is played again and again to see whether it repeats itself."""
_LARGE = 1_000.0
"""Observations beyond this are hard to learn from."""

_ADVICE = {
    "must be real numbers": "Return observations as a NumPy array of float32, as the observation space should say.",
    "of shape": "Every observation must have the shape of the observation space, at reset and at each step.",
    "non-finite": "Find where the NaN or infinity comes from, and end the episode there or clip the value.",
    "cannot make": "Is its package installed? Gymnasium imports it first if you write package:Name-v0.",
    "could not be made": "Make it in Python in the same way, with the same kwargs, and mend what comes.",
    "raised": "Mend the environment; `--debug` of `recall train` lets breakpoint() work in it.",
    "hangs": "If the simulator is only slow, raise --patience, and machine.patience in training.",
    "worker process": "The simulator took its process with it: a crash in its own code, or too little memory.",
}


def check_environment(
    task: Task,
    seconds: float = 10.0,
    patience: float = 30.0,
    least_speed: float = 30.0,
    worker: Callable[[float], Worker] = ProcessWorker,
) -> list[Finding]:
    """Play a task for some seconds in one process, and its first episode in another; say what is wrong with it."""
    try:
        seen = _ask(Look(task, 5_000, seconds, _COMPARED), worker(patience))
        other = seen
        if seen.broken is None:
            other = _ask(Look(task, 0, seconds, len(seen.prints[0]) - 1), worker(patience))
    except (UsageError, RunError) as error:
        return [_fault(str(error))]
    if seen.broken or other.broken:
        return [_sizes(seen), _fault(seen.broken or other.broken or "")]
    return [
        _sizes(seen),
        *_numbers(seen),
        _repeats(seen, other),
        *_starts(seen),
        *_ends(seen),
        *_success(seen, task),
        *_rewards(seen),
        _speed(seen, least_speed),
    ]


def _ask(request: Look, worker: Worker) -> Seen:
    try:
        worker.send(request)
        return worker.receive()
    finally:
        worker.close()


def _fault(sentence: str) -> Finding:
    sentence = sentence.replace("; workers.log in the run folder may say more", "")
    return wrong(sentence, next((advice for key, advice in _ADVICE.items() if key in sentence), ""))


def _sizes(seen: Seen) -> Finding:
    return good(f"{seen.observation_size} numbers of observation, {seen.action_size} of action, in box spaces.")


def _numbers(seen: Seen) -> list[Finding]:
    found: list[Finding] = []
    if seen.raw is not None:
        odd = sorted(seen.raw.types - {seen.raw.declared})
        if odd:
            found.append(
                note(
                    f"Observations come as {', '.join(odd)}; their space says {seen.raw.declared}.",
                    "Training makes float32 of them; let the space say what comes.",
                )
            )
        if seen.raw.outside:
            found.append(
                note(
                    f"{seen.raw.outside:,} observations lay outside their space.",
                    "Training does not mind; widen the space's bounds.",
                )
            )
    if seen.largest > _LARGE:
        found.append(
            note(
                f"The largest number in an observation was {seen.largest:,.0f}.",
                "Networks learn best from numbers around 1: change the unit.",
            )
        )
    return found or [good(f"All numbers were finite in {seen.steps:,} steps, and of the types their spaces promise.")]


def _repeats(seen: Seen, other: Seen) -> Finding:
    first, again, elsewhere = seen.prints[0], seen.prints[1], other.prints[0]
    advice = (
        "Draw every random number from self.np_random, which reset(seed=seed) sets, and keep nothing from episode to "
        "episode. It can be trained on as it is, but no such run can be repeated, or resumed exactly."
    )
    step = first_difference(first, again)
    if step is not None:
        when = "the first observation" if step == 0 else f"step {step}"
        return wrong(f"The same seed and actions gave different numbers the second time, from {when} on.", advice)
    step = first_difference(first, elsewhere)
    if step is not None:
        when = "the first observation" if step == 0 else f"step {step}"
        return wrong(f"The same seed and actions gave other numbers in another process, from {when} on.", advice)
    return good(
        f"The same seed and actions gave the same bits over {len(first) - 1} steps, three times, in two processes."
    )


def _starts(seen: Seen) -> list[Finding]:
    if len(seen.lengths) >= 2 and len(seen.starts) == 1:
        return [
            note("All seeds begin with the same observation.", "If starts should differ, use self.np_random in reset.")
        ]
    return []


def _ends(seen: Seen) -> list[Finding]:
    match ending(seen):
        case "endless":
            return [
                wrong(
                    f"No episode ended in {seen.longest:,} steps, and there is no time limit.",
                    "Give the task a horizon: horizon = 200 in its table of a tasks file, or "
                    "max_episode_steps where it is registered with Gymnasium.",
                )
            ]
        case "limited":
            return [note(f"No episode was seen to its end; the time limit is {seen.limit:,} steps.")]
        case "ends":
            pass
    if max(seen.lengths) == 1:
        return [wrong("Every episode ended at its first step.", "Look at what sets terminated or truncated.")]
    shortest, longest, count = min(seen.lengths), max(seen.lengths), len(seen.lengths)
    span = f"{longest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
    how = f"{seen.terminated} of {count} by terminating" if seen.terminated else "all by their time limit"
    return [good(f"Episodes ended after {span} steps, {how}.")]


def _success(seen: Seen, task: Task) -> list[Finding]:
    by_return = task.options.get("success_return") is not None
    if seen.raw is not None and seen.raw.odd_flag and not by_return:
        return [
            wrong(
                f'info["success"] is neither true nor false: {seen.raw.odd_flag}.',
                "Make it a bool, or 0 or 1: anything else counts as success as soon as Python takes it for true.",
            )
        ]
    if len(seen.successes) >= 3 and all(seen.successes):
        what = "success_return is reached" if by_return else 'info["success"] is true'
        return [
            wrong(
                f"Random actions succeed in every one of {len(seen.successes)} episodes: {what}.",
                "Such a success tells nothing: it must be true only where the task is done.",
            )
        ]
    if seen.raw is not None and not seen.raw.flags and not by_return:
        return [
            note(
                'There is no info["success"], so the success rate will be 0.',
                "Compare returns, or give the task a success_return.",
            )
        ]
    rate = f"{sum(seen.successes)} of {len(seen.successes)}"
    return [good(f"Random actions succeed in {rate} episodes.")] if seen.successes else []


def _rewards(seen: Seen) -> list[Finding]:
    mean = size(seen.rewards)
    if mean == 0:
        return [
            note(
                f"Every reward was 0 in {seen.steps:,} random steps.",
                "Chance finds nothing to learn from: pay for coming nearer, or make the task easier at first.",
            )
        ]
    return [good(f"Rewards are {mean:.3g} in size on average.")]


def _speed(seen: Seen, least: float) -> Finding:
    steps, taken = (seen.raw.steps, seen.raw.seconds) if seen.raw else (seen.steps, seen.seconds)
    speed = steps / max(taken, 1e-9)
    hours = 100_000 / speed / 3600
    told = f"{speed:,.0f} steps a second" if speed >= 10 else f"{speed:.2g} steps a second"
    if speed < least:
        return wrong(
            f"It is slow: {told}, so 100,000 steps take {hours:.1f} hours without any learning.",
            "Make the simulator faster (larger time steps, no rendering), train fewer steps (--set training.steps), or "
            "accept it with --least-speed 0.",
        )
    return good(f"{told.capitalize()}.")
