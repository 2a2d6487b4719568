"""How a new task begins: the `start` part of methods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import equinox as eqx
import jax

from recall_rl.agent.state import AgentState
from recall_rl.methods.method import Start
from recall_rl.tasks.task import Stage


@partial(jax.jit, static_argnames=("critic", "temperature"))
def copy_head(agent: AgentState, source: int, target: int, critic: bool, temperature: bool) -> AgentState:
    """The agent in which one head's actor (and critics with statistics, and temperature) is a copy of another's."""

    def copied(part: AgentState) -> list[object]:
        heads = part.heads
        parts: list[object] = [heads.params.actor]
        if critic:
            parts += [heads.params.critics, heads.targets, heads.statistics]
        if temperature:
            parts.append(heads.params.log_alpha)
        return parts

    new = [jax.tree.map(lambda x: x.at[target].set(x[source]), part) for part in copied(agent)]
    return eqx.tree_at(copied, agent, new, is_leaf=lambda x: x is None)


def best_return(critic: bool = True, temperature: bool = True) -> Start:
    """A new head starts as a copy of the old head that earns the most on the new task.

    Every old head is tried alone, on the same few episodes, which enter neither memory nor an evaluation.
    """

    def candidates(agent: AgentState, stage: Stage) -> tuple[int, ...]:
        return tuple(range(min(stage.new)))

    def begin(agent: AgentState, stage: Stage, returns: Mapping[int, float]) -> AgentState:
        if not returns:
            return agent
        best = max(returns, key=lambda head: returns[head])
        for position in stage.new:
            agent = copy_head(agent, best, position, critic, temperature)
        return agent

    return Start(candidates, begin)
