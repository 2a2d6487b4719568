"""The losses of soft actor-critic with per-task heads: pure functions in the paper's symbols."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layers, forward
from recall_rl.agent.state import Params
from recall_rl.collect.policy import LOG_STD_MAX, LOG_STD_MIN
from recall_rl.collect.row import Row
from recall_rl.memory.sample import UNKNOWN, Group, Shares


class Gaussian(NamedTuple):
    """The policy's distribution before tanh."""

    mean: Float[Array, "rows action"]
    log_std: Float[Array, "rows action"]


class Transitions(NamedTuple):
    """A batch in columns; `slot` says to which of the chunk's heads each row belongs."""

    s: Float[Array, "rows observation"]
    a: Float[Array, "rows action"]
    r: Float[Array, " rows"]
    terminated: Float[Array, " rows"]
    s_next: Float[Array, "rows observation"]
    slot: Int[Array, " rows"]
    weight: Float[Array, " rows"] | None
    """How much each row counts in a mean over rows; None: all alike."""
    shares: Shares = UNKNOWN
    """Which rows surely belong to which slots."""


class Lessons(NamedTuple):
    """States with what the old policy did in them."""

    s: Float[Array, "rows observation"]
    pi: Gaussian
    slot: Int[Array, " rows"]
    shares: Shares = UNKNOWN


class Groups(NamedTuple):
    """What one update learns from."""

    learn: Transitions
    reference: Transitions
    distil: Lessons


def columns(learn: Group, reference: Group, distil: Group, row: Row) -> Groups:
    """Take the stored rows of one update apart."""
    lessons: Any = distil.rows
    mean, log_std = jnp.split(lessons[:, row.observation_size :], 2, axis=-1)
    return Groups(
        _transitions(learn, row),
        _transitions(reference, row),
        Lessons(lessons[:, : row.observation_size], Gaussian(mean, log_std), distil.slot, distil.shares),  # pyright: ignore
    )


def _transitions(group: Group, row: Row) -> Transitions:
    rows: Any = group.rows
    return Transitions(
        s=rows[:, row.observation],
        a=rows[:, row.action],
        r=rows[:, row.reward],
        terminated=rows[:, row.terminated],
        s_next=rows[:, row.next_observation],
        slot=group.slot,  # pyright: ignore[reportArgumentType]
        weight=group.weight,  # pyright: ignore[reportArgumentType]
        shares=group.shares,
    )


def average(each: Float[Array, " rows"], weight: Float[Array, " rows"] | None) -> Float[Array, ""]:
    """Mean over rows, each counted by its weight."""
    return jnp.mean(each if weight is None else each * weight)


def target_entropy(config: AgentConfig, action_size: int) -> float:
    """Entropy of a Gaussian policy with the target output deviation in every dimension."""
    return action_size * math.log(config.target_std * math.sqrt(2 * math.pi * math.e))


def policy(
    config: AgentConfig,
    shared: Params,
    heads: Params,
    s: Float[Array, "rows observation"],
    slot: Int[Array, " rows"],
    shares: Shares = UNKNOWN,
) -> Gaussian:
    """pi_phi(. | s) of each row's own head."""
    outputs = forward(shared.actor, heads.actor, config.actor.activation, s, slot, shares)
    mean, log_std = jnp.split(outputs, 2, axis=-1)
    return Gaussian(mean, jnp.clip(log_std, LOG_STD_MIN, LOG_STD_MAX))


def sample(
    pi: Gaussian, noise: Float[Array, "rows action"]
) -> tuple[Float[Array, "rows action"], Float[Array, " rows"]]:
    """An action tanh(mean + deviation x noise) and its log density."""
    u = pi.mean + jnp.exp(pi.log_std) * noise
    normal = -0.5 * noise**2 - pi.log_std - 0.5 * math.log(2 * math.pi)
    # log(1 - tanh(u)^2), in a form that does not lose small numbers.
    squash = 2 * (math.log(2) - u - jax.nn.softplus(-2 * u))
    return jnp.tanh(u), jnp.sum(normal - squash, axis=-1)


def value(
    config: AgentConfig,
    trunk: Layers,
    heads: Layers,
    s: Float[Array, "rows observation"],
    a: Float[Array, "rows action"],
    slot: Int[Array, " rows"],
    shares: Shares = UNKNOWN,
) -> Float[Array, " rows"]:
    """Q(s, a) of each row's own head, as the network puts it out (normalised, if targets are)."""
    return forward(trunk, heads, config.critic.activation, jnp.concatenate([s, a], axis=-1), slot, shares)[:, 0]


def critic_loss(
    q: tuple[Float[Array, " rows"], Float[Array, " rows"]],
    y: Float[Array, " rows"],
    weight: Float[Array, " rows"] | None = None,
) -> Float[Array, ""]:
    """L_Q, equation 1 (3 if y is normalised): half the squared error, summed over both critics."""
    return 0.5 * sum((average((q_k - y) ** 2, weight) for q_k in q), start=jnp.zeros(()))


def actor_loss(
    alpha: Float[Array, " rows"],
    log_pi: Float[Array, " rows"],
    q_min: Float[Array, " rows"],
    weight: Float[Array, " rows"] | None = None,
) -> Float[Array, ""]:
    """L_pi, equation 2 (5 if q is normalised)."""
    return average(alpha * log_pi - q_min, weight)


def temperature_loss(
    log_alpha: Float[Array, " rows"],
    log_pi: Float[Array, " rows"],
    entropy: float,
    weight: Float[Array, " rows"] | None = None,
) -> Float[Array, ""]:
    """Moves each task's temperature until its policy's entropy is the target entropy."""
    return -average(log_alpha * (log_pi + entropy), weight)


def soft_target(
    r: Float[Array, " rows"],
    terminated: Float[Array, " rows"],
    gamma: float,
    q_next: Float[Array, " rows"],
    alpha: Float[Array, " rows"],
    log_pi_next: Float[Array, " rows"],
) -> Float[Array, " rows"]:
    """Q_{bar theta, tau}, equation 4: reward plus discounted soft value, all in the reward's own units."""
    return r + gamma * (1.0 - terminated) * (q_next - alpha * log_pi_next)
