"""Whether a method keeps what every method promises: it learns two and three tiny tasks, twice over."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recall_rl.checks.finding import Finding, good, note, wrong
from recall_rl.errors import RunError, UsageError

_PAIR, _TRIPLE = "reach-0,reach-180@100", "reach-0,reach-180@100,reach-90"
_ROUNDING = 1e-4
"""Of an array's largest number: a hundred times what rounding was seen to change."""
_PACKAGE = Path(__file__).parents[1]
_NOT_FINITE = "Look for divisions by zero and logarithms of what may be zero; JAX_DEBUG_NANS=True names the place."


def check_method(name: str) -> list[Finding]:
    """Try a method; what it promises is what docs/own-method.md lists."""
    from recall_rl.methods.find import method, options

    try:
        made, found = method(name), options(name)
    except (UsageError, RunError) as error:
        return [wrong(str(error), "docs/own-method.md shows how a method is written.")]
    except Exception as error:
        return [_raised("The method could not be made", error)]
    listed = ", ".join(f"{key}={value}" for key, value in found.items())
    findings = [good(f"It makes a method; options: {listed}." if found else "It makes a method without options.")]
    try:
        for finding in _tried(name, made):
            findings.append(finding)
            if finding.level == "wrong":
                break
    except (UsageError, RunError) as error:
        findings.append(wrong(str(error), _NOT_FINITE))
    except Exception as error:
        findings.append(_raised("It could not learn two tiny tasks", error))
    return findings


def _raised(what: str, error: Exception) -> Finding:
    """The sentence about an exception, with the last line of the user's own code that led to it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _ours(f.filename)]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    told = (str(error).strip().splitlines() or [""])[0][:200]
    return wrong(f"{what}: {type(error).__name__}: {told}{where}.", "Mend it there; docs/own-method.md has examples.")


def _ours(file: str) -> bool:
    path = Path(file)
    return path.is_relative_to(_PACKAGE) or "site-packages" in path.parts or file.startswith("<")


def _tried(name: str, made: Any) -> Iterator[Finding]:
    first = _learn(name, _PAIR)
    yield _finite(first)
    yield _saved(name, first)
    yield _same(first, _learn(name, _PAIR))
    yield _independent(made, first, _learn(name, _TRIPLE))


@dataclasses.dataclass
class _Ran:
    setup: Any
    agent: Any
    after: list[list[Any]]
    """What had been learnt at the end of each stage, as arrays."""


def _learn(name: str, tasks: str) -> _Ran:
    from recall_rl.agent.config import AgentConfig, NetworkConfig
    from recall_rl.collect.row import Row
    from recall_rl.methods.find import method
    from recall_rl.tasks.protocol import PROTOCOLS
    from recall_rl.tasks.sequences import sequence
    from recall_rl.training.config import TrainingConfig
    from recall_rl.training.loop import Setup, learn
    from recall_rl.training.team import MachineConfig, Team

    net = NetworkConfig(width=16, trunk=2)
    training = TrainingConfig(steps=120, start_steps=40, update_after=40, chunk=20, evaluate_every=60)
    own, chosen = dataclasses.replace(PROTOCOLS["own"], episodes=2), method(name)
    agent = chosen.agent(AgentConfig(actor=net, critic=net, batch=16))
    setup = Setup(sequence(tasks, own), chosen, own, agent, chosen.training(training), 0, Row(4, 2))
    after: dict[int, list[Any]] = {}
    last: Any = None
    with Team(MachineConfig(), inline=True) as team:
        for progress in learn(setup, team):
            last = progress.agent
            if progress.stage_ended:
                after[progress.stage] = _learnt(last, progress.stage + 1)
    return _Ran(setup, last, list(after.values()))


def _arrays(tree: Any) -> list[Any]:
    import jax

    def array(x: Any) -> Any:
        return jax.random.key_data(x) if jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key) else x

    return [np.asarray(array(x)) for x in jax.tree.leaves(tree)]


def _content(tree: Any) -> list[bytes]:
    return [x.tobytes() for x in _arrays(tree)]


def _learnt(agent: Any, tasks: int) -> list[Any]:
    """What agents of different numbers of tasks share: trunks, the heads of the first tasks, and the anchor."""
    import jax

    heads = jax.tree.map(lambda x: x[:tasks], agent.heads)
    return _arrays((agent.shared, heads, agent.anchor, agent.updates))


def _finite(run: _Ran) -> Finding:
    import jax

    parts = {"weights": run.agent.shared, "heads": run.agent.heads, "anchor": run.agent.anchor, "mask": run.agent.mask}
    bad = [
        part for part, tree in parts.items() if not all(np.isfinite(np.asarray(x)).all() for x in _floats(jax, tree))
    ]
    if bad:
        return wrong(
            f"After two tiny tasks there are NaN or infinite numbers in its {' and '.join(bad)}.",
            _NOT_FINITE,
        )
    return good("It learns two tiny tasks, and all its numbers stay finite.")


def _floats(jax: Any, tree: Any) -> list[Any]:
    return [x for x in jax.tree.leaves(tree) if jax.numpy.issubdtype(x.dtype, jax.numpy.floating)]


def _same(first: _Ran, again: _Ran) -> Finding:
    if _content(first.agent) != _content(again.agent):
        return wrong(
            "The same seed gave other weights the second time.",
            "Draw random numbers only from the generator or key that a part is given, and keep nothing between runs.",
        )
    return good("The same seed gives the same bits.")


def _saved(name: str, run: _Ran) -> Finding:
    from safetensors.numpy import load, save

    from recall_rl.methods.method import new_agent
    from recall_rl.runs.state import agent_arrays, restored

    advice = "The state that init makes must be a tree of arrays, of the same shapes as what later becomes of it."
    try:
        new = new_agent(run.setup.method, run.setup.agent, run.setup.row, 2, seed=1)
        back = restored(new, load(save(dict(agent_arrays(run.agent)))))
    except Exception as error:
        told = (str(error).strip().splitlines() or [""])[0][:200]
        return wrong(f"{name} cannot be saved and loaded: {type(error).__name__}: {told}.", advice)
    if _content(back) != _content(run.agent):
        return wrong("What is loaded is not what was saved.", advice)
    return good("Its state survives being saved and loaded, so runs can be resumed.")


def _independent(made: Any, pair: _Ran, triple: _Ran) -> Finding:
    if made.looks_ahead:
        return note(f"Its runs cannot be extended: {made.looks_ahead}.")
    if len(pair.after) == 1:
        return note("It learns all tasks in one stage, so its runs cannot be extended.")
    if not all(_close(x, y) for x, y in zip(pair.after[1], triple.after[1], strict=True)):
        return wrong(
            "What is learnt of the first two tasks depends on whether a third follows.",
            "`recall extend` and campaigns rely on it not to: say why in looks_ahead, or use nothing of later tasks.",
        )
    return good("The first tasks do not depend on those that follow, so runs can be extended.")


def _close(x: Any, y: Any) -> bool:
    """Whether two arrays differ by rounding alone: each number of heads is a program of its own, compiled anew."""
    if x.shape != y.shape:
        return False
    scale = np.abs(x).max(initial=0.0)
    return bool(np.allclose(x, y, rtol=0.0, atol=_ROUNDING * scale))
