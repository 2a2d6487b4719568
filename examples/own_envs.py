"""Environments of one's own for the examples: a function that returns a Gymnasium environment is enough."""

import gymnasium


class Walk(gymnasium.RewardWrapper):
    """Pays for moving at a certain speed instead of for moving fast."""

    def __init__(self, env, speed):
        super().__init__(env)
        self.speed = speed

    def step(self, action):
        """Take one action; the reward is 1 at the right speed and falls to 0 on both sides."""
        observation, _, terminated, truncated, info = self.env.step(action)
        reward = max(0.0, 1.0 - abs(info["x_velocity"] - self.speed) / abs(self.speed))
        return observation, reward, terminated, truncated, info


def walk(speed=1.0, render_mode=None):
    """HalfCheetah that is paid for walking at this speed, in metres a second; below 0 it is backwards."""
    return Walk(gymnasium.make("HalfCheetah-v5", render_mode=render_mode), speed)


def moon(gravity=1.62, render_mode=None):
    """HalfCheetah under another gravity, in metres a second squared."""
    env = gymnasium.make("HalfCheetah-v5", render_mode=render_mode)
    env.unwrapped.model.opt.gravity[2] = -gravity
    return env
