"""Holding on to old behaviour by what old policies did in old states: the `anchor` parts that distil."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig
from recall_rl.agent.state import AgentState
from recall_rl.memory.memory import Lesson, states_of
from recall_rl.methods.method import Anchor, Both, Ended

_AT_ONCE = 8192
"""States whose policy is computed in one call when a stage ends."""


def divergence(pi: sac.Gaussian, old: sac.Gaussian) -> Float[Array, "rows action"]:
    """KL(pi, pi_old) in each action dimension; tanh is one-to-one, so it is the same before and after it."""
    ratio = jnp.exp(2 * (pi.log_std - old.log_std))
    gap = (pi.mean - old.mean) ** 2 * jnp.exp(-2 * old.log_std)
    return old.log_std - pi.log_std + 0.5 * (ratio + gap - 1.0)


@partial(jax.jit, static_argnums=0)
def _policy(
    config: AgentConfig, seen: Both, position: int, s: Float[Array, "rows observation"]
) -> Float[Array, "rows twice"]:
    shared, every = seen
    heads = jax.tree.map(lambda x: x[position][None], every)
    slot = jnp.zeros(len(s), jnp.int32)
    return jnp.concatenate(sac.policy(config, shared, heads, s, slot), axis=-1)


def _ask(ended: Ended, position: int, lesson: Lesson, n: int) -> None:
    """Ask the policy of this position about each of the n states of a lesson."""
    seen = ended.view(position)
    for start in range(0, n, _AT_ONCE):
        s = states_of(lesson.states, np.arange(start, min(start + _AT_ONCE, n)))
        padded = np.concatenate([s, np.zeros((_AT_ONCE - len(s), s.shape[1]), np.float32)])
        lesson.outputs.append(np.asarray(_policy(ended.config, seen, position, padded))[: len(s)])


def distil(lam: float, states: int | None = None, mean_over_actions: bool = False) -> Anchor:
    """Equation 8 times lambda: the policy stays near what it was at the end of each old task.

    All states of the old tasks are used, or `states` of each, drawn with replacement. The divergence is summed over
    action dimensions, as a divergence of joint distributions is, or averaged as in the authors' code.
    """

    def loss(kept: None, config: AgentConfig, params: Both, seen: Both, groups: sac.Groups) -> Float[Array, ""]:
        lesson = groups.distil
        if lesson.s.shape[0] == 0:
            return jnp.zeros(())
        each = divergence(sac.policy(config, *seen, lesson.s, lesson.slot, lesson.shares), lesson.pi)
        return lam * jnp.mean(each if mean_over_actions else jnp.sum(each, axis=-1))

    def consolidate(agent: AgentState, ended: Ended) -> AgentState:
        memory = ended.memory
        for position in ended.stage.new:
            rows = memory.segments[position]
            count = len(rows) if states is None else states
            chosen = rows if states is None else rows.states(ended.rng.integers(0, len(rows), states))
            _ask(ended, position, memory.teach(position, chosen, count), count)
        return agent

    return Anchor(init=lambda agent: None, loss=loss, consolidate=consolidate)
