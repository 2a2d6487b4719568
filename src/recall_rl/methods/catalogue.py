"""Every method by name, in a few lines each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.state import AgentState
from recall_rl.methods.anchors import distil
from recall_rl.methods.draws import everything, half_past, with_reference
from recall_rl.methods.draws import reservoir as kept_at_random
from recall_rl.methods.masks import ownership, projection, prune, weights_left
from recall_rl.methods.method import Method, Phase
from recall_rl.methods.penalties import fisher_penalty, near, sensitivity_penalty
from recall_rl.methods.starts import Inherited, best_return, best_return_as_released
from recall_rl.methods.targets import bounded, even_handed, popart
from recall_rl.methods.variational import sampled_weights, stay_likely
from recall_rl.tasks.task import Sequence, Stage
from recall_rl.training.config import TrainingConfig


@dataclass(frozen=True)
class Entry:
    """A method's line in the catalogue."""

    sentence: str
    reference: str
    build: Callable[..., Method]
    """Called with the method's options, all of which have defaults."""


def own_values(config: AgentConfig) -> AgentConfig:
    """Critics that share their first layer only: the paper's critic heads with their own hidden layers."""
    critic = config.critic
    return replace(config, critic=replace(critic, trunk=1, head=critic.trunk + critic.head - 1))


def as_the_paper(config: TrainingConfig) -> TrainingConfig:
    """First gather, then learn, with the weights just learnt."""
    return replace(config, lag=0)


# RECALL and its ablations


def naive_replay() -> Method:
    """Replay without either mechanism: the ablation's "None"."""
    return Method(draw=half_past(), start=best_return(_WEIGHTS), agent=own_values)


def recall_tn(beta: float = 3e-4) -> Method:
    """Replay with normalised targets."""
    return replace(naive_replay(), targets=popart(beta))


def recall_pd(lam: float = 1.0) -> Method:
    """Replay with distillation of old policies."""
    return replace(naive_replay(), anchor=distil(lam))


def recall(
    lam: float = 1.0,
    beta: float = 3e-4,
    inherit_statistics: bool = False,
    inherit_temperature: bool = False,
    old_tasks: int | None = None,
) -> Method:
    """Replay with both; of at most `old_tasks` old tasks in a chunk, if given."""
    taken = Inherited(statistics=inherit_statistics, temperature=inherit_temperature)
    return Method(half_past(old_tasks=old_tasks), popart(beta), distil(lam), start=best_return(taken), agent=own_values)


def recall_steady(lam: float = 1.0, beta: float = 3e-4, mean: bool = True, bound: bool = True) -> Method:
    """Replay with both; old tasks are judged by the `mean` of both critics, and targets have a `bound`."""
    targets = even_handed(popart(beta)) if mean else popart(beta)
    return replace(recall(lam, beta), targets=bounded(targets) if bound else targets)


_WEIGHTS = Inherited(statistics=False, temperature=False)
"""Weights are inherited, as the paper says; the scale of a task's targets and its temperature are its own."""


def recall_paper(lam: float = 10.0, beta: float = 3e-4) -> Method:
    """The equations as printed, misprints read sensibly."""
    return Method(
        draw=half_past(),
        targets=popart(beta, corrected=False, entropy="raw", moment="after the step"),
        anchor=distil(lam),
        start=best_return(_WEIGHTS),
        agent=own_values,
        training=as_the_paper,
    )


def recall_as_released(
    lam: float = 10.0,
    beta: float = 3e-4,
    leaky: bool = True,
    statistics_of_normalised: bool = True,
    rescale_first_critic_only: bool = True,
    adapt_before_step: bool = True,
    old_loss_times_tasks: bool = True,
    temperature_of_new_rows: bool = True,
    mean_divergence: bool = True,
    states: int | None = 10_000,
    clip: float | None = 0.1,
    summed_candidates: bool = True,
    wrong_stride: bool = True,
    explore_again: bool = False,
    keras_adam: bool = True,
) -> Method:
    """The authors' code; options but lam and beta switch single deviations from the paper off."""

    def agent(config: AgentConfig) -> AgentConfig:
        config = own_values(config)
        if leaky:
            actor, critic = (replace(net, activation="leaky_relu") for net in (config.actor, config.critic))
            config = replace(config, actor=actor, critic=critic)
        if keras_adam:
            config = replace(config, adam_epsilon=1e-7, reset_count=False)
        return replace(config, clip=clip, temperature_rows="new" if temperature_of_new_rows else "all")

    return Method(
        draw=half_past("times old tasks" if old_loss_times_tasks else "mean"),
        targets=popart(
            beta,
            corrected=False,
            entropy="raw",
            moment="before the step" if adapt_before_step else "after the step",
            low=1e-4,
            high=1e6,
            of_normalised=statistics_of_normalised,
            rescaled="first critic" if rescale_first_critic_only else "all",
        ),
        anchor=distil(lam, states, mean_divergence),
        start=best_return_as_released(summed_candidates, wrong_stride),
        agent=agent,
        training=lambda config: replace(config, lag=0, explore_again=explore_again),
        looks_ahead="it copies columns with a stride that depends on the number of tasks" if wrong_stride else None,
    )


# The paper's baselines


def fine_tuning() -> Method:
    """Train on each task in turn, with no protection of the old ones."""
    return Method()


def ewc(c: float = 1e4) -> Method:
    """Elastic weight consolidation."""
    return Method(anchor=fisher_penalty(c))


def packnet(retrain: float = 0.1, clip: float = 2e-5, capacity: int | None = None) -> Method:
    """Prune, retrain for this share of a task's steps, freeze."""

    def agent(config: AgentConfig) -> AgentConfig:
        # The clip was tuned with Keras's Adam, whose epsilon is of the size of the clipped gradients.
        return replace(config, clip=clip, adam_epsilon=1e-7)

    def updates(agent: AgentState, stage: Stage, training: TrainingConfig) -> int:
        return round(retrain * training.steps * training.updates_per_step) if weights_left(agent, stage) > 1 else 0

    return Method(
        mask=ownership(capacity),
        settle=(Phase(prune, updates),),
        agent=agent,
        looks_ahead=None
        if capacity
        else "it shares its weights out among the tasks of the sequence; train it with --set options.capacity=N",
        most_tasks=capacity,
    )


def clonex(c: float = 100.0, states: int = 10_000, clip: float = 0.1) -> Method:
    """Behavioural cloning of old policies, and best-return exploration."""
    return Method(
        anchor=distil(c, states),
        start=best_return(Inherited(critic=False, statistics=False, temperature=False)),
        agent=lambda config: replace(config, clip=clip),
        training=lambda config: replace(config, explore_again=False),
    )


def perfect_memory() -> Method:
    """Keep every row and draw from all alike, in batches four times as large."""
    return Method(draw=everything(), agent=lambda config: replace(config, batch=4 * config.batch))


# The rest of the field


def l2(c: float = 1e5) -> Method:
    """Keep the weights near those of the last task."""
    return Method(anchor=near(c))


def mas(c: float = 1e4) -> Method:
    """Memory aware synapses."""
    return Method(anchor=sensitivity_penalty(c))


def vcl(c: float = 1.0) -> Method:
    """Variational continual learning."""
    return Method(anchor=stay_likely(c), mask=sampled_weights())


def reservoir(rows: int | None = None) -> Method:
    """Replay from a memory of bounded size."""
    return Method(draw=kept_at_random(rows))


def a_gem(rows: int = 10_000) -> Method:
    """Averaged gradient episodic memory."""
    return Method(draw=with_reference(rows), mask=projection())


def all_at_once(sequence: Sequence) -> Sequence:
    """One stage of all tasks."""
    return replace(sequence, stages=(Stage(new=tuple(range(len(sequence)))),))


_TOGETHER = "it learns all tasks of the sequence together"


def mtl() -> Method:
    """All tasks at once: a reference, not a continual method."""
    return Method(curriculum=all_at_once, looks_ahead=_TOGETHER)


def mtl_popart(beta: float = 3e-4) -> Method:
    """All tasks at once with normalised targets."""
    return Method(targets=popart(beta), curriculum=all_at_once, looks_ahead=_TOGETHER)


_RECALL = "Zhang et al., Replay-enhanced Continual Reinforcement Learning, TMLR 2023"
_CW = "Wołczyk et al., Continual World, NeurIPS 2021"

CATALOGUE: dict[str, Entry] = {
    "fine-tuning": Entry(
        "Trains on each task in turn without protecting the old ones: shows the forgetting that others avoid.",
        _CW,
        fine_tuning,
    ),
    "recall": Entry(
        "Replays old tasks beside the new one, with targets normalised per task, old policies distilled, and new heads "
        "copied from the best old one.",
        _RECALL,
        recall,
    ),
    "recall-tn": Entry("recall without distillation.", _RECALL + ' (ablation "TN")', recall_tn),
    "recall-pd": Entry("recall without target normalisation.", _RECALL + ' (ablation "PD")', recall_pd),
    "naive-replay": Entry(
        "recall without either: half of each batch is drawn from all old rows.",
        _RECALL + ' (ablation "None")',
        naive_replay,
    ),
    "recall-steady": Entry(
        "recall whose values of old tasks cannot run away: the mean of both critics, within what rewards allow.",
        _RECALL + "; what keeps it steady is ours",
        recall_steady,
    ),
    "recall-paper": Entry("recall by the equations as printed.", _RECALL, recall_paper),
    "recall-as-released": Entry(
        "recall as in the authors' code, each of its deviations from the paper an option.",
        _RECALL + ", code of its authors",
        recall_as_released,
    ),
    "ewc": Entry(
        "Holds weights of the actor near their old values, each as firmly as its Fisher information says.",
        "Kirkpatrick et al., Overcoming catastrophic forgetting in neural networks, PNAS 2017",
        ewc,
    ),
    "packnet": Entry(
        "Gives each task its own share of the actor's weights: prunes, retrains and freezes them.",
        "Mallya and Lazebnik, PackNet, CVPR 2018",
        packnet,
    ),
    "clonex": Entry(
        "Clones old policies in 10,000 states a task; new heads start from the best old one.",
        "Wołczyk et al., Disentangling Transfer in Continual Reinforcement Learning, NeurIPS 2022",
        clonex,
    ),
    "perfect-memory": Entry(
        "Keeps every row of every task and draws from all alike, in batches four times as large.",
        "Wołczyk et al., Disentangling Transfer in Continual Reinforcement Learning, NeurIPS 2022",
        perfect_memory,
    ),
    "l2": Entry("Holds all weights of the actor's trunk near their old values alike.", _CW, l2),
    "mas": Entry(
        "Holds weights near their old values, each as firmly as it moves the policy's outputs.",
        "Aljundi et al., Memory Aware Synapses, ECCV 2018",
        mas,
    ),
    "vcl": Entry(
        "Learns a distribution over the actor's weights that stays near that of the last task.",
        "Nguyen et al., Variational Continual Learning, ICLR 2018",
        vcl,
    ),
    "reservoir": Entry(
        "Replays from a memory of one task's size in which every row ever gathered has the same chance to be.",
        "Vitter, Random Sampling with a Reservoir, 1985; in " + _CW,
        reservoir,
    ),
    "a-gem": Entry(
        "Takes out of each gradient what would make 10,000 kept rows a task worse.",
        "Chaudhry et al., Efficient Lifelong Learning with A-GEM, ICLR 2019",
        a_gem,
    ),
    "mtl": Entry("Trains on all tasks at once: a reference, not a continual method.", _CW, mtl),
    "mtl-popart": Entry(
        "mtl with targets normalised per task.",
        "Hessel et al., Multi-task Deep Reinforcement Learning with PopArt, AAAI 2019",
        mtl_popart,
    ),
}
