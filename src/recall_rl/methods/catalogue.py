"""Every method by name, in a few lines each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from recall_rl.agent.config import AgentConfig
from recall_rl.errors import unknown
from recall_rl.methods.anchors import distil
from recall_rl.methods.draws import half_past
from recall_rl.methods.method import Method
from recall_rl.methods.starts import best_return
from recall_rl.methods.targets import popart


@dataclass(frozen=True)
class Entry:
    """A method's line in the catalogue."""

    sentence: str
    reference: str
    build: Callable[[], Method]


def fine_tuning() -> Method:
    """Train on each task in turn, with no protection of the old ones."""
    return Method()


def own_values(config: AgentConfig) -> AgentConfig:
    """Critics that share their first layer only: the paper's critic heads with their own hidden layers."""
    critic = config.critic
    return replace(config, critic=replace(critic, trunk=1, head=critic.trunk + critic.head - 1))


def naive_replay() -> Method:
    """Replay without either mechanism: the ablation's "None"."""
    return Method(draw=half_past(), start=best_return(), agent=own_values)


def recall_tn() -> Method:
    """Replay with normalised targets."""
    return replace(naive_replay(), targets=popart())


def recall_pd(lam: float = 10.0) -> Method:
    """Replay with distillation of old policies."""
    return replace(naive_replay(), anchor=distil(lam))


def recall(lam: float = 10.0) -> Method:
    """Replay with both."""
    return replace(naive_replay(), targets=popart(), anchor=distil(lam))


_RECALL = "Zhang et al., Replay-enhanced Continual Reinforcement Learning, TMLR 2023"

CATALOGUE: dict[str, Entry] = {
    "fine-tuning": Entry(
        "Trains on each task in turn without protecting the old ones: shows the forgetting that others avoid.",
        "Wolczyk et al., Continual World, NeurIPS 2021",
        fine_tuning,
    ),
    "naive-replay": Entry(
        "Replays rows of all old tasks beside the new one's, half and half; new heads start from the best old one.",
        _RECALL + ' (ablation "None")',
        naive_replay,
    ),
    "recall-tn": Entry("naive-replay with target normalisation per head.", _RECALL + ' (ablation "TN")', recall_tn),
    "recall-pd": Entry("naive-replay with distillation of old policies.", _RECALL + ' (ablation "PD")', recall_pd),
    "recall": Entry("naive-replay with target normalisation and distillation of old policies.", _RECALL, recall),
}


def method(name: str) -> Method:
    """The method of this name."""
    if name not in CATALOGUE:
        raise unknown("method", name, CATALOGUE, "`recall list methods` shows them all.")
    return CATALOGUE[name].build()
