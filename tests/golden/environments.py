#!/usr/bin/env python3
"""Writes what gymnasium's environments do: environments.json.

Run with a Python that has gymnasium 1:  python tests/golden/environments.py [OUT [STEPS [EVERY]]]
Starts and actions come from one congruential generator (Knuth's MMIX), so that they need not be written down. Of
every EVERYth step there are state, observation and reward; of all steps those that ended an episode.
"""
import json
import pathlib
import sys

import gymnasium
import numpy as np

OUT = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).with_suffix(".json"))
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
EVERY = int(sys.argv[3]) if len(sys.argv) > 3 else 50
# Bounds of the numbers of a start.
STARTS = {
    "CartPole-v1": [(-0.05, 0.05)] * 4,
    "Acrobot-v1": [(-0.1, 0.1)] * 4,
    "MountainCar-v0": [(-0.6, -0.4), (0.0, 0.0)],
    "Pendulum-v1": [(-np.pi, np.pi), (-1.0, 1.0)],
}


class Generator:
    def __init__(self):
        self.x = 1

    def uniform(self, low, high):
        self.x = (self.x * 6364136223846793005 + 1442695040888963407) % 2**64
        return low + (high - low) * ((self.x >> 11) * 2.0**-53)


def run(name):
    env, draw = gymnasium.make(name), Generator()
    rows, terminated_at, truncated_at = [], [], []

    def begin():
        env.reset(seed=0)
        env.unwrapped.state = np.array([draw.uniform(*bounds) for bounds in STARTS[name]])

    begin()
    for step in range(STEPS):
        if isinstance(env.action_space, gymnasium.spaces.Discrete):
            action = int(draw.uniform(0, int(env.action_space.n)))
        else:
            action = np.array([draw.uniform(-2.5, 2.5)], np.float32)
        seen, reward, terminated, truncated, _ = env.step(action)
        if step % EVERY == 0:
            state = [float(x) for x in env.unwrapped.state]
            rows.append({"step": step, "state": state, "observation": [float(x) for x in seen], "reward": float(reward)})
        if terminated:
            terminated_at.append(step)
        if truncated:
            truncated_at.append(step)
        if terminated or truncated:
            begin()
    return {"steps": STEPS, "rows": rows, "terminated": terminated_at, "truncated": truncated_at}


result = {name: run(name) for name in STARTS}
result["gymnasium"] = gymnasium.__version__
with open(OUT, "w", encoding="utf-8") as file:
    json.dump(result, file, separators=(",", ":"))
    file.write("\n")
