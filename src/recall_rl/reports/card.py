"""The model card of a policy: what it can do, how that was measured, and how to use it, as Markdown for the Hub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from recall_rl import __version__
from recall_rl.runs.evaluate import Score
from recall_rl.runs.policy import Policy


def _words(text: str) -> str:
    """Text that stands as it is in a Markdown table, with no markup of its own."""
    plain = " ".join(text.split())
    for sign in "\\`*_[]<>|#":
        plain = plain.replace(sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign])
    return plain


def _front(policy: Policy, name: str, scores: Sequence[Score], license: str | None) -> str:
    """The head that the Hub reads; JSON's strings are YAML's too."""
    lines = ["---", "library_name: recall-rl", "pipeline_tag: reinforcement-learning"]
    lines += [f"license: {json.dumps(license)}"] if license else []
    lines += ["tags:", *(f"- {tag}" for tag in ("reinforcement-learning", "continual-learning", "recall-rl"))]
    if scores:
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for s in scores:
        posed = f"{s.task} ({policy.about.protocol.name})"
        lines += [
            "  - task: {type: reinforcement-learning, name: reinforcement learning}",
            f"    dataset: {{name: {json.dumps(posed)}, type: {json.dumps(s.task)}}}",
            "    metrics:",
            f"    - {{type: success_rate, value: {s.success:.4g}, name: success rate}}",
            f"    - {{type: mean_return, value: {s.total:.6g}, name: mean return}}",
        ]
    return "\n".join([*lines, "---"])


def _results(policy: Policy, scores: Sequence[Score]) -> str:
    if not scores:
        return "The tasks it knows, in the order they were learnt: " + ", ".join(map(_words, policy.tasks)) + "."
    rows = [
        f"| {s.position} | {_words(s.task)} | {s.success:.2f} | {s.low:.2f} to {s.high:.2f} | {s.total:,.1f} |"
        for s in scores
    ]
    how = "with sampled actions" if policy.about.protocol.stochastic else "with its most likely actions"
    return "\n".join(
        [
            "| position | task | success | 90% interval | mean return |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"{scores[0].episodes} episodes a task {how}. An episode succeeds if its goal is reached at any step; the "
            "interval is Wilson's. One training run: how another seed would have done is not said here.",
        ]
    )


def _facts(policy: Policy) -> str:
    about, first = policy.about, policy.actors[0].layers
    facts = {
        "method": about.method,
        "tasks": ", ".join(policy.tasks),
        "protocol": f"{about.protocol.name}: {about.protocol.sentence}",
        "budget": about.budget,
        "steps of training": f"{about.step:,} over all tasks",
        "seed": str(about.seed),
        "results version": str(about.results_version),
        "observation": f"{first[0].w.shape[0]} numbers",
        "action": f"{first[-1].w.shape[1] // 2} numbers in [-1, 1]",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {_words(value)} |" for name, value in facts.items())])


def _shown(repo: str, video: Path | None) -> str:
    if video is None:
        return ""
    if video.suffix == ".gif":
        return f"![the policy at work](video{video.suffix})\n\n"
    address = f"https://huggingface.co/{repo}/resolve/main/video{video.suffix}"
    return f'<video controls autoplay loop muted src="{address}"></video>\n\n'


def card(policy: Policy, repo: str, scores: Sequence[Score], video: Path | None, license: str | None) -> str:
    """The card's text."""
    owner, _, name = repo.partition("/")
    count = len(policy.tasks)
    task = json.dumps(policy.tasks[-1])
    return f"""{_front(policy, name, scores, license)}

# {name}

One policy for {count} task{"" if count == 1 else "s, learnt one after another"}, by
recall-rl {__version__}.

{_shown(repo, video)}## What it can do

{_results(policy, scores)}

## How it was trained

{_facts(policy)}

## How to use it

```sh
pip install "recall-rl[hub]"
recall evaluate hf:{repo}
```

```python
import recall_rl

policy = recall_rl.load("hf:{owner}/{name}")
print(policy.tasks)
action = policy.act(observation, {task})  # the most likely action
```

Loading imports NumPy, not JAX, and runs no code of this repository: `policy.safetensors` holds weights and their
description. Meta-World tasks need `pip install "recall-rl[metaworld]"` to be played.
"""
