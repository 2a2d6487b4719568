"""What can be set about the agent; the defaults are the paper's table of hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from recall_rl.collect.policy import Activation


@dataclass(frozen=True)
class NetworkConfig:
    """Shape of the actor or of each critic: a trunk shared by all tasks, then a head for each."""

    width: int = 256
    """Units in every hidden layer."""
    trunk: int = 4
    """Hidden layers shared by all tasks; 0 shares nothing."""
    head: int = 0
    """Hidden layers of each task's own head, before its linear output."""
    activation: Activation = "relu"
    """Nonlinearity of the hidden layers."""
    first_norm: bool = True
    """Whether the first layer is Dense, LayerNorm, tanh, as in Continual World, whose networks the paper uses."""


@dataclass(frozen=True)
class AgentConfig:
    """Soft actor-critic with one head and one temperature per task."""

    actor: NetworkConfig = field(default_factory=NetworkConfig)
    critic: NetworkConfig = field(default_factory=NetworkConfig)
    learning_rate: float = 1e-3
    """Adam's step size, for actor, critics and temperatures."""
    adam_epsilon: float = 1e-8
    """Added to Adam's denominator."""
    batch: int = 128
    """Rows in one update."""
    gamma: float = 0.99
    """Discount factor."""
    tau: float = 0.005
    """Target smoothing coefficient, applied at every update."""
    target_std: float = 0.089
    """Output deviation whose Gaussian entropy is the target entropy, per action dimension."""
    initial_log_alpha: float = 1.0
    """Where each task's log temperature starts."""
    clip: float | None = None
    """Global gradient norm allowed to actor, critics and temperature each; none by default."""
    reset_optimiser: bool = True
    """Whether a new stage starts with fresh optimiser moments."""
    reset_count: bool = True
    """Whether the optimiser's step count starts anew with its moments; without it, steps after a reset are larger."""
    temperature_rows: Literal["all", "new"] = "all"
    """Which rows of a batch move temperatures: all of them, or those of the new task."""
