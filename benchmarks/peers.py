"""Other people's SAC for `performance.py`, on the same task, networks, batch, and one update a step; needs torch.

Stable-Baselines3 is itself. CleanRL is a script and no package, so `CleanRL` below does per step what its SAC does:
act, store, draw a batch, one step of both critics, two of the actor and the temperature every second step, Polyak.
"""

from __future__ import annotations

from itertools import pairwise

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from sides import CW, rate
from torch import nn

from recall_rl.agent.config import NetworkConfig
from recall_rl.tasks.sequences import sequence

BATCH = 128
torch.set_num_threads(1)


class FromTask(gymnasium.Env):
    """A task as a Gymnasium environment."""

    def __init__(self, task: str):
        self.inner, self.number = sequence(task, CW).tasks[0].make(), 0
        self.observation_space = Box(-np.inf, np.inf, (self.inner.observation_size,), np.float32)
        self.action_space = Box(-1, 1, (self.inner.action_size,), np.float32)

    def reset(self, seed=None, options=None):
        self.number += 1
        return self.inner.reset(self.number), {}

    def step(self, action):
        step = self.inner.step(action)
        return step.observation, step.reward, step.terminated, step.truncated, {}


class StableBaselines:
    """Stable-Baselines3's SAC after its first updates."""

    def __init__(self, task: str, shape: NetworkConfig, steps: int):
        from stable_baselines3 import SAC

        policy = {"net_arch": [shape.width] * shape.trunk}
        self.steps = steps
        self.model = SAC(
            "MlpPolicy",
            FromTask(task),
            learning_starts=200,
            batch_size=BATCH,
            buffer_size=100_000,
            policy_kwargs=policy,
            seed=0,
        )
        self.model.learn(300)

    def __call__(self) -> float:
        return rate(self.steps, lambda: self.model.learn(self.steps, reset_num_timesteps=False))


def network(shape: NetworkConfig, inputs: int, outputs: int) -> nn.Sequential:
    sizes = [inputs, *[shape.width] * shape.trunk]
    hidden = [m for a, b in pairwise(sizes) for m in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(shape.width, outputs))


class CleanRL:
    """What CleanRL's SAC does for each step."""

    def __init__(self, task: str, shape: NetworkConfig, steps: int):
        self.env, self.steps, self.count = FromTask(task), steps, 0
        n, self.actions = self.env.observation_space.shape[0], self.env.action_space.shape[0]
        self.actor = network(shape, n, 2 * self.actions)
        self.critics = nn.ModuleList(network(shape, n + self.actions, 1) for _ in range(2))
        self.targets = nn.ModuleList(network(shape, n + self.actions, 1) for _ in range(2))
        self.targets.load_state_dict(self.critics.state_dict())
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_adam = torch.optim.Adam(self.critics.parameters(), lr=1e-3)
        self.alpha_adam = torch.optim.Adam([self.log_alpha], lr=1e-3)
        self.rows = np.zeros((100_000, 2 * n + self.actions + 2), np.float32)
        self.sizes, self.rng = [n, self.actions, 1, 1, n], np.random.default_rng(0)
        self.observation = self.env.reset()[0]
        self.work(300)

    def sample(self, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_std = self.actor(s).chunk(2, dim=-1)
        log_std = -5 + 0.5 * 7 * (torch.tanh(log_std) + 1)
        normal = torch.distributions.Normal(mean, log_std.exp())
        u = normal.rsample()
        a = torch.tanh(u)
        return a, (normal.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(1, keepdim=True)

    def work(self, steps: int) -> None:
        for _ in range(steps):
            if self.count < 200:
                action = self.env.action_space.sample()
            else:
                with torch.no_grad():
                    action = self.sample(torch.as_tensor(self.observation)[None])[0][0].numpy()
            after, reward, terminated, truncated, _ = self.env.step(action)
            row = np.concatenate([self.observation, action, [reward, terminated], after])
            self.rows[self.count % len(self.rows)] = row
            self.observation = self.env.reset()[0] if terminated or truncated else after
            self.count += 1
            if self.count > 200:
                self.update()

    def update(self) -> None:
        picked = self.rows[self.rng.integers(0, min(self.count, len(self.rows)), BATCH)]
        s, a, r, end, after = torch.as_tensor(picked).split(self.sizes, dim=1)
        with torch.no_grad():
            b, log_pi = self.sample(after)
            q = torch.minimum(*(target(torch.cat([after, b], 1)) for target in self.targets))
            y = r + (1 - end) * 0.99 * (q - self.log_alpha.exp() * log_pi)
        loss = sum(nn.functional.mse_loss(critic(torch.cat([s, a], 1)), y) for critic in self.critics)
        self._step(self.critic_adam, loss)
        if self.count % 2 == 0:
            for _ in range(2):
                b, log_pi = self.sample(s)
                q = torch.minimum(*(critic(torch.cat([s, b], 1)) for critic in self.critics))
                self._step(self.actor_adam, (self.log_alpha.exp().detach() * log_pi - q).mean())
                with torch.no_grad():
                    _, log_pi = self.sample(s)
                self._step(self.alpha_adam, (-self.log_alpha.exp() * (log_pi - self.actions)).mean())
        for target, critic in zip(self.targets.parameters(), self.critics.parameters(), strict=True):
            target.data.copy_(0.005 * critic.data + 0.995 * target.data)

    def _step(self, adam: torch.optim.Optimizer, loss: torch.Tensor) -> None:
        adam.zero_grad()
        loss.backward()
        adam.step()

    def __call__(self) -> float:
        return rate(self.steps, lambda: self.work(self.steps))
