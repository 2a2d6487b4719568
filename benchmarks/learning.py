"""Does our SAC learn as well as Stable-Baselines3's? Return at equal steps, same hyper-parameters, several seeds.

Run each half where its packages are (Stable-Baselines3 and torch are no dependencies of ours), then compare:

    python benchmarks/learning.py ours hopper --seeds 0 1 2
    python benchmarks/learning.py sb3 hopper --seeds 0 1 2
    python benchmarks/learning.py compare

Both play an untouched environment through the same Task, with networks of 2 x 256, batches of 128, Adam 3e-4,
50 updates after every 50 steps, 1,000 random first steps, and are evaluated every 5,000 steps by 10 episodes of
the policy's mode.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

OUT = Path(__file__).parent.parent / "results" / "learning"
TASKS = {"hopper": ("gym:Hopper-v5", "own"), "handle-press-side": ("handle-press-side", "mw3")}
EVERY, EPISODES = 5_000, 10


def save(side: str, name: str, seed: int, curve: list[dict]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": c["step"], "returns": [round(r, 3) for r in c["returns"]]}) for c in curve]
    (OUT / f"{side}-{name}-{seed}.jsonl").write_text("\n".join(lines) + "\n")


def ours(name: str, seed: int, steps: int) -> None:
    import recall_rl

    sequence, protocol = TASKS[name]
    settings = {
        "agent.actor.width": 256,
        "agent.critic.width": 256,
        "agent.actor.trunk": 2,
        "agent.critic.trunk": 2,
        "agent.actor.first_norm": False,
        "agent.critic.first_norm": False,
        "agent.batch": 128,
        "agent.learning_rate": 3e-4,
        "agent.initial_log_alpha": 0.0,
        "training.steps": steps,
        "training.start_steps": 1_000,
        "training.update_after": 1_000,
        "training.evaluate_every": EVERY,
        "training.lag": 0,
        "protocol.stochastic": False,
        "protocol.episodes": EPISODES,
    }
    folder = Path(tempfile.mkdtemp()) / "run"
    run = recall_rl.train(sequence, protocol=protocol, seed=seed, out=folder, settings=settings)
    curve = [{"step": e["step"], "returns": [e["scores"][0]["total"]]} for e in run.evaluations()]
    save("ours", name, seed, curve)
    shutil.rmtree(folder)


def sb3(name: str, seed: int, steps: int) -> None:
    import gymnasium
    import torch
    from gymnasium.spaces import Box
    from stable_baselines3 import SAC
    from stable_baselines3.common.callbacks import BaseCallback

    from recall_rl.tasks.protocol import PROTOCOLS
    from recall_rl.tasks.sequences import task

    torch.set_num_threads(1)

    class FromTask(gymnasium.Env):
        """A Task as a Gymnasium environment."""

        def __init__(self, first_seed: int):
            sequence, protocol = TASKS[name]
            self.inner = task(sequence, PROTOCOLS[protocol]).make()
            self.observation_space = Box(-np.inf, np.inf, (self.inner.observation_size,), np.float32)
            self.action_space = Box(-1, 1, (self.inner.action_size,), np.float32)
            self.next_seed = first_seed

        def reset(self, seed=None, options=None):
            self.next_seed += 1
            return self.inner.reset(self.next_seed), {}

        def step(self, action):
            step = self.inner.step(action)
            return step.observation, step.reward, step.terminated, step.truncated, {}

    def evaluate(model) -> list[float]:
        env, totals = FromTask(10_000_000 + 100 * model.num_timesteps), []
        for _ in range(EPISODES):
            observation, total, over = env.reset()[0], 0.0, False
            while not over:
                action, _ = model.predict(observation, deterministic=True)
                observation, reward, terminated, truncated, _ = env.step(action)
                total, over = total + reward, terminated or truncated
            totals.append(total)
        return totals

    curve: list[dict] = []

    class Watch(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps % EVERY == 0:
                curve.append({"step": self.num_timesteps, "returns": evaluate(self.model)})
                print(seed, curve[-1]["step"], np.mean(curve[-1]["returns"]), flush=True)
            return True

    model = SAC(
        "MlpPolicy",
        FromTask(1_000_000 * (seed + 1)),
        learning_rate=3e-4,
        buffer_size=1_000_000,
        learning_starts=1_000,
        batch_size=128,
        tau=0.005,
        gamma=0.99,
        train_freq=50,
        gradient_steps=50,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
    )
    model.learn(steps, callback=Watch())
    save("sb3", name, seed, curve)


def read(side: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(steps, (seeds, steps) mean returns) of the runs that are there."""
    files = sorted(OUT.glob(f"{side}-{name}-*.jsonl"))
    curves = [[json.loads(line) for line in f.read_text().splitlines()] for f in files]
    steps = np.array([c["step"] for c in curves[0]]) if curves else np.array([])
    return steps, np.array([[np.mean(c["returns"]) for c in curve] for curve in curves])


def compare() -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(TASKS), figsize=(10, 3.6), layout="constrained")
    print("| task | steps | ours: mean of seeds (each) | SB3: mean of seeds (each) |\n|---|---|---|---|")
    for axis, name in zip(axes, TASKS, strict=True):
        cells = {}
        for side, colour, label in (("ours", "#0072b2", "recall-rl"), ("sb3", "#d55e00", "Stable-Baselines3")):
            steps, returns = read(side, name)
            if not len(steps):
                continue
            axis.plot(steps, returns.T, color=colour, alpha=0.3, linewidth=1)
            axis.plot(steps, returns.mean(0), color=colour, linewidth=2, label=f"{label}, n = {len(returns)}")
            cells[side] = returns
        axis.set(title=" under ".join(TASKS[name]), xlabel="environment steps", ylabel="return (policy's mode)")
        axis.legend(frameon=False)
        for k, step in enumerate(steps):
            if (k + 1) % 2 == 0:
                row = [f"{c[:, k].mean():,.0f} ({', '.join(f'{v:,.0f}' for v in c[:, k])})" for c in cells.values()]
                print(f"| {name} | {step:,} | {' | '.join(row)} |")
        area = {side: returns.mean() for side, returns in cells.items()}
        print(f"| {name} | area under the curve | {' | '.join(f'{v:,.0f}' for v in area.values())} |")
    figure.savefig(OUT.parent.parent / "docs" / "_static" / "learning.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ours", "sb3", "compare"])
    parser.add_argument("task", nargs="?", choices=list(TASKS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=60_000)
    arguments = parser.parse_args()
    if arguments.what == "compare":
        compare()
    else:
        for seed in arguments.seeds:
            {"ours": ours, "sb3": sb3}[arguments.what](arguments.task, seed, arguments.steps)
