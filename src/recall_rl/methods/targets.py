"""How value targets are scaled: the `targets` part of methods.

`popart` keeps, per head, the mean mu and deviation sigma of the targets (equation 6), shows the network targets of mean
0 and deviation 1 (equation 3), and rescales the last layer of both critics and both target critics so that their
unnormalised outputs stay as they are (equation 7, read with the primes that its misprint lost).

Normalised targets have no scale of their own: a value that is wrong by a lasting share of sigma makes sigma grow, which
makes it wrong by more. `even_handed` takes that error out of tasks whose policies are held, `bounded` ends its growth.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from recall_rl.agent.networks import Layer, Layers
from recall_rl.methods.method import Critics, Moment, Targets

Rows = Float[Array, " rows"]
Slots = Int[Array, " rows"]


class Statistics(eqx.Module):
    """Of one head's targets; in an agent the first axis counts heads."""

    mu: Float[Array, "*heads"]
    """Running mean."""
    variance: Float[Array, "*heads"]
    """sigma^2 = nu - mu^2, kept in this form because nu - mu^2 is noise once |mu| / sigma is large."""
    updates: Float[Array, "*heads"]
    """Updates seen, for the correction of the initial values."""


def _sigma(statistics: Statistics, low: float, high: float) -> Float[Array, " heads"]:
    return jnp.clip(jnp.sqrt(statistics.variance), low, high)


def _observe(old: Statistics, y: Rows, slot: Slots, beta: float, corrected: bool) -> Statistics:
    """Equation 6 for the mean over each head's rows; heads without rows keep what they had."""
    heads = old.mu.shape[0]
    count = jnp.zeros(heads).at[slot].add(1.0)
    n = jnp.maximum(count, 1.0)
    mean = jnp.zeros(heads).at[slot].add(y) / n
    spread = jnp.zeros(heads).at[slot].add((y - mean[slot]) ** 2) / n
    t = old.updates + 1.0
    # Without correction the first targets would be mixed with the arbitrary mu = 0, sigma = 1 for 1 / beta updates.
    step = jnp.minimum(beta / -jnp.expm1(t * math.log1p(-beta)), 1.0) if corrected else jnp.full(heads, beta)
    step = jnp.where(count > 0, step, 0.0)
    # nu' - mu'^2 with nu' and mu' written out; every term is non-negative.
    variance = (1 - step) * old.variance + step * spread + step * (1 - step) * (mean - old.mu) ** 2
    return Statistics(old.mu + step * (mean - old.mu), variance, jnp.where(count > 0, t, old.updates))


def rescale(
    last: Layer,
    mu: Float[Array, " heads"],
    sigma: Float[Array, " heads"],
    new_mu: Float[Array, " heads"],
    new_sigma: Float[Array, " heads"],
) -> Layer:
    """Equation 7: the layer whose output times new_sigma plus new_mu is the old one's times sigma plus mu."""
    w = last.w * (sigma / new_sigma)[:, None, None]
    b = (sigma[:, None] * last.b + (mu - new_mu)[:, None]) / new_sigma[:, None]
    return Layer(w, b, last.norm)


def popart(
    beta: float = 3e-4,
    corrected: bool = True,
    entropy: Literal["none", "raw"] = "none",
    moment: Moment = "before the gradient",
    low: float = 1e-6,
    high: float = 1e8,
    of_normalised: bool = False,
    rescaled: Literal["all", "first critic"] = "all",
) -> Targets:
    """Adaptive normalisation of targets, per head.

    `corrected` weighs early updates so that the initial values do not count. `entropy` says whether the target has the
    entropy term of equation 4: it is in the reward's units there but in the network's in the policy's loss, so with it
    learning depends on the reward's scale. (In the network's units it would feed the very sigma that it is multiplied
    with, and targets grow without bound while the temperature is high.) `moment` brings the statistics up to date
    before the gradient is taken, so that no update sees targets of a scale it does not know. The equations as printed
    are uncorrected, with raw entropy, after the step.

    Two deviations of the authors' code: `of_normalised` takes the statistics of targets that are already normalised,
    and `rescaled` may leave the second critic and both target critics as they are.
    """

    def known(statistics: Statistics) -> Float[Array, " heads"]:
        """Sigma, or 0 where a head has seen no target: its first targets are then its rewards, in their own scale."""
        sigma = _sigma(statistics, low, high)
        return jnp.where(statistics.updates > 0, sigma, 0.0) if corrected else sigma

    def normalise(statistics: Statistics, y: Rows, slot: Slots) -> Rows:
        return (y - statistics.mu[slot]) / _sigma(statistics, low, high)[slot]

    def unnormalise(statistics: Statistics, q: Rows, slot: Slots) -> Rows:
        return known(statistics)[slot] * q + statistics.mu[slot]

    def entropy_unit(statistics: Statistics, slot: Slots) -> Rows:
        return jnp.full(len(slot), 1.0 if entropy == "raw" else 0.0)

    def adapt(
        old: Statistics, critics: Critics, targets: Critics, y: Rows, slot: Slots
    ) -> tuple[Statistics, Critics, Critics]:
        new = _observe(old, normalise(old, y, slot) if of_normalised else y, slot, beta, corrected)
        before, after = _sigma(old, low, high), _sigma(new, low, high)
        mu = old.mu
        if corrected:
            # A head's first statistics are no change of scale: there is nothing yet to preserve.
            begun = old.updates > 0
            mu, before = jnp.where(begun, mu, new.mu), jnp.where(begun, before, after)

        def moved(layers: Layers) -> Layers:
            return (*layers[:-1], rescale(layers[-1], mu, before, new.mu, after))

        if rescaled == "first critic":
            return new, (moved(critics[0]), critics[1]), targets
        first, second = (moved(critic) for critic in critics)
        first_target, second_target = (moved(critic) for critic in targets)
        return new, (first, second), (first_target, second_target)

    def init() -> Any:
        return jax.tree.map(jnp.asarray, Statistics(0.0, 1.0, 0.0))  # pyright: ignore[reportArgumentType]

    return Targets(init, normalise, unnormalise, entropy_unit, adapt, moment)


def even_handed(targets: Targets) -> Targets:
    """Targets of another part, with old tasks judged by the mean of both target critics instead of the smaller.

    The smaller makes up for a policy that seeks its critic's errors. A policy that distillation holds seeks nothing, so
    there the smaller is too small in every backup.
    """

    def judge(first: Rows, second: Rows, slot: Slots, new: int) -> Rows:
        return jnp.where(slot < new, targets.judge(first, second, slot, new), 0.5 * (first + second))

    return replace(targets, judge=judge)


class Bounded(eqx.Module):
    """The statistics of another part, and the range of one head's rewards; in an agent the first axis counts heads."""

    of: Any
    """The other part's."""
    least: Float[Array, "*heads"]
    """The smallest reward seen, or 0, which is what follows an episode's end."""
    most: Float[Array, "*heads"]
    """The largest, or 0."""


def bounded(targets: Targets) -> Targets:
    """Targets of another part, clipped to what a policy can gather: from least / (1 - gamma) to most / (1 - gamma).

    The part must leave the entropy out of its targets, since no reward bounds it.
    """

    def init() -> Any:
        return Bounded(targets.init(), jnp.zeros(()), jnp.zeros(()))

    def bound(statistics: Bounded, y: Rows, r: Rows, slot: Slots, gamma: float) -> tuple[Bounded, Rows]:
        least, most = statistics.least.at[slot].min(r), statistics.most.at[slot].max(r)
        y = jnp.clip(y, least[slot] / (1 - gamma), most[slot] / (1 - gamma))
        return Bounded(statistics.of, least, most), y

    def adapt(
        old: Bounded, critics: Critics, others: Critics, y: Rows, slot: Slots
    ) -> tuple[Bounded, Critics, Critics]:
        new, critics, others = targets.adapt(old.of, critics, others, y, slot)
        return Bounded(new, old.least, old.most), critics, others

    return replace(
        targets,
        init=init,
        normalise=lambda statistics, y, slot: targets.normalise(statistics.of, y, slot),
        unnormalise=lambda statistics, q, slot: targets.unnormalise(statistics.of, q, slot),
        entropy_unit=lambda statistics, slot: targets.entropy_unit(statistics.of, slot),
        adapt=adapt,
        bound=bound,
    )
