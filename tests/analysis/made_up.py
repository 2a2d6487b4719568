"""Made-up runs with known numbers, written as published journals or run folders are."""

import json

import numpy as np

from recall_rl.runs.config import resolve
from recall_rl.tasks.sequences import task_names


def curves(tasks, kept=1.0, each=4, seed=0):
    """Rises to 1 in its own training, then keeps a share: evaluations of all tasks, NaN before a task is met."""
    noise = np.random.default_rng(seed)
    success = np.full((tasks * each, tasks), np.nan)
    for p in range(tasks):
        for k in range(p * each, tasks * each):
            level = (k - p * each + 1) / each if k < (p + 1) * each else kept
            success[k, p] = np.clip(level - 0.05 * noise.integers(0, 2) * (k < (p + 1) * each - 1), 0, 1)
    return success


def write(folder, name, method="recall", sequence="reach-0,reach-90", seed=0, success=None, ended=True, **more):
    """A run as NAME.json and NAME.jsonl; `more` are settings of its config, or `identity`."""
    identity = more.pop("identity", f"{name}-{seed}")
    tasks, own = more.pop("tasks", None), more.pop("own", None)
    settings = [f"{k}={v}" for k, v in more.items()]
    config = resolve(method=method, sequence=sequence, seed=seed, budget_name="smoke", settings=settings, tasks=own)
    content = json.loads(config.to_json())
    if tasks:
        content["sequence"] = ",".join(tasks)
    names = task_names(content["sequence"])
    success = curves(len(names), seed=seed) if success is None else np.asarray(success)
    each = content["training"]["steps"] * len(names) // len(success)
    lines = [{"event": "run", "identity": identity, "tasks": names, "reproducible": True}]
    for k, row in enumerate(success):
        scores = [
            {"position": p, "task": names[p], "success": float(s), "total": 10 * float(s), "length": 50.0}
            for p, s in enumerate(row)
            if not np.isnan(s)
        ]
        stage, step = len(scores) - 1, (k + 1) * each
        learning = {"actor_loss": -1.0 * k, "critic_loss": 0.5, "q": 1.0 * k, "target": 1e4 * k, "alpha": 0.1}
        lines.append({"event": "training", "stage": stage, "step": step, "learning": learning})
        average = sum(s["success"] for s in scores) / len(names)
        lines.append({"event": "evaluation", "step": step, "scores": scores, "average": average})
    if ended:
        lines.append({"event": "end", "step": len(success) * each})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content))
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder
