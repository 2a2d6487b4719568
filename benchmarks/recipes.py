"""How far figures of the flat evaluation recipe lie from those of the full one, on sequences made from published runs.

    python benchmarks/recipes.py                      # seconds; prints a table

Published sequences are short, so longer ones are put together: each task takes the evaluations of its own training
from a published run, and afterwards the rates which that run found on it while later tasks were learnt, stretched over
all later tasks; ten episodes are drawn at each rate. Both recipes see the same draws; where flat does not play a task,
it keeps what was found last, as reports do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from recall_rl.analysis.metrics import Rates, at_end, average_performance, final_performance, forgetting, spans
from recall_rl.analysis.read import carried, read
from recall_rl.tasks.task import Stage
from recall_rl.training.recipe import Recipe

RESULTS = Path(__file__).parents[1] / "results" / "methods"
Curve = tuple[Rates, Rates]
"""Success during a task's own training, and after it."""


def curves(paths: list[Path]) -> list[Curve]:
    """Those of every task of every finished run that has others after it."""
    found: list[Curve] = []
    for result in read(paths).results:
        for p, span in enumerate(spans(result.success)):
            later = result.success[span.stop :, p]
            if result.finished and len(later):
                found.append((result.success[span.first : span.stop, p], later))
    return found


def made(known: list[Curve], tasks: int, each: int, rng: np.random.Generator) -> Rates:
    """What the full recipe finds in a sequence of this many tasks, with `each` evaluations a task."""
    success = np.full((tasks * each, tasks), np.nan)
    for p in range(tasks):
        own, later = known[rng.integers(len(known))]
        success[p * each : (p + 1) * each, p] = own[np.linspace(0, len(own) - 1, each).round().astype(int)]
        rest = (tasks - p - 1) * each
        if rest:
            rates = later[np.linspace(0, len(later) - 1, rest).round().astype(int)]
            success[(p + 1) * each :, p] = rng.binomial(10, rates) / 10
    return success


def flat(full: Rates, each: int) -> Rates:
    """What a report shows of the same sequence under the flat recipe."""
    evaluations = Recipe("flat", tuple(Stage(new=(p,)) for p in range(full.shape[1])), each, 1)
    seen = np.full_like(full, np.nan)
    for k in range(len(full)):
        played = list(evaluations.at(k + 1).played)
        seen[k, played] = full[k, played]
    return carried(seen)


def main(tasks: int, each: int, sequences: int) -> None:
    """Print the errors of the flat recipe."""
    rng, known = np.random.default_rng(0), curves([RESULTS])
    print(f"{len(known)} tasks of published runs; {sequences} sequences of {tasks} tasks, {each} evaluations a task\n")
    found: dict[str, list[float]] = {}
    for _ in range(sequences):
        full = made(known, tasks, each, rng)
        seen = flat(full, each)
        curve = average_performance(seen) - average_performance(full)
        for name, error in (
            ("P(t), mean over the run", float(curve.mean())),
            ("P(t), largest in the run", float(curve[np.abs(curve).argmax()])),
            ("final performance", final_performance(seen) - final_performance(full)),
            ("forgetting", forgetting(seen) - forgetting(full)),
            ("final performance, last 10 evaluations", float((at_end(seen, 10) - at_end(full, 10)).mean())),
        ):
            found.setdefault(name, []).append(error)
    print("| figure | mean error | root mean square error |\n|---|---|---|")
    for name, errors in found.items():
        print(f"| {name} | {np.mean(errors):+.4f} | {np.sqrt(np.mean(np.square(errors))):.4f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--each", type=int, default=20, help="evaluations of a task's own training")
    parser.add_argument("--sequences", type=int, default=200)
    main(**vars(parser.parse_args()))
