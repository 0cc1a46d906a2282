#!/usr/bin/env python3
"""Judges what `veldt train` saved of an agent inside gymnasium: python tests/rl/judge.py MODEL.. [--episodes 100]

The file is read by this script alone (a safetensors header is JSON), and the policy computed by NumPy in float64.
Prints the mean return of each model; exits with 1 if one is below --least.
"""
import argparse
import json
import struct
import sys

import gymnasium
import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64}


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    about = header.pop("__metadata__")
    tensors = {}
    for name, one in header.items():
        begin, end = one["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], TYPES[one["dtype"]]).reshape(one["shape"]).astype(np.float64)
    return tensors, about


def policy_of(tensors, recipe):
    part = "values" if recipe["agent.kind"] == ["dqn"] else "actor"
    activation = np.tanh if recipe.get("agent.activation", ["tanh"]) == ["tanh"] else lambda x: np.maximum(x, 0)
    depth = len([name for name in tensors if name.startswith(part) and name.endswith("weight")])
    dueling = recipe.get("agent.dueling", ["false"]) == ["true"]

    def policy(seen):
        x = np.asarray(seen, np.float64)
        if "moments.mean" in tensors:
            x = np.clip((x - tensors["moments.mean"]) / np.sqrt(tensors["moments.variance"] + 1e-8), -10, 10)
        for i in range(depth):
            x = x @ tensors[f"{part}.layers.{i}.weight"].T + tensors[f"{part}.layers.{i}.bias"]
            if i + 1 < depth:
                x = activation(x)
        return x[..., 1:] if dueling else x  # a value that all choices share decides nothing

    return policy


def judge(path, episodes, seed):
    tensors, about = read(path)
    recipe = json.loads(about["recipe"])
    name = recipe["environment.name"][0]
    policy = policy_of(tensors, recipe)
    env = gymnasium.make(name)
    is_discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    returns = []
    for episode in range(episodes):
        seen, _ = env.reset(seed=seed + episode)
        total, over = 0.0, False
        while not over:
            out = policy(seen)
            action = int(np.argmax(out)) if is_discrete else out.astype(np.float32)
            seen, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            over = terminated or truncated
        returns.append(total)
    return name, returns


parser = argparse.ArgumentParser()
parser.add_argument("models", nargs="+")
parser.add_argument("--episodes", type=int, default=100)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--least", type=float, default=-np.inf)
flags = parser.parse_args()
worst = np.inf
for path in flags.models:
    name, returns = judge(path, flags.episodes, flags.seed)
    worst = min(worst, np.mean(returns))
    print(f"{path}: {name}, {flags.episodes} episodes, mean return {np.mean(returns):.2f}, deviation {np.std(returns):.2f}")
sys.exit(0 if worst >= flags.least else 1)
