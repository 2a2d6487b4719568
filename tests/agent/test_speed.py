"""The learner stays as fast as it was made: counted where speed can be counted, timed generously where it cannot."""

import math
import sys
from pathlib import Path

import jax
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from sides import CHUNK, ROW, Bare, Learner, update_flops

from recall_rl.agent.update import make_update


def product_flops(jaxpr):
    """Float operations of all products in a program, those in loops as often as they run."""
    total = 0
    for step in jaxpr.eqns:
        if step.primitive.name == "dot_general":
            (contracted, _), _ = step.params["dimension_numbers"]
            shape = step.invars[0].aval.shape
            total += 2 * math.prod(step.outvars[0].aval.shape) * math.prod(shape[i] for i in contracted)
        times = step.params.get("length", 1) if step.primitive.name == "scan" else 1
        for inner in step.params.values():
            inner = getattr(inner, "jaxpr", inner)
            total += times * product_flops(inner) if hasattr(inner, "eqns") else 0
    return total


@pytest.mark.parametrize(("name", "tasks"), [("fine-tuning", 1), ("recall", 2)])
def test_an_update_makes_the_products_it_needs_and_no_others(name, tasks):
    """If every row of recall went through both heads, there would be twice as many."""
    learner = Learner(name, "paper", 1, tasks, rows=1_000, begin=False)
    batches, plain = learner.batches(), make_update(learner.method, learner.config, ROW, compiled=False)
    program = jax.make_jaxpr(plain, static_argnums=2)(learner.state, batches, tasks > 1)
    needed = update_flops(learner.config, batches.learn.rows.shape[1], batches.distil.rows.shape[1])
    assert product_flops(program.jaxpr) / CHUNK == pytest.approx(needed, rel=0.03)


def test_drawing_batches_and_gathering_heads_cost_little_beside_the_update():
    """By CPU time, the sides taking turns, each at its best; on an idle machine they are equal."""
    ours = Learner("recall", "laptop", chunks=1, tasks=2, rows=2_000)
    bare = Bare(ours)
    rates = [(ours(), bare()) for _ in range(6)]
    assert max(a for a, _ in rates) > 0.5 * max(b for _, b in rates)
