#!/usr/bin/env python3
"""Trains CartPole-v1 by stable-baselines3's PPO with the settings of recipes/cartpole.toml, one thread, and prints
steps a second and the mean return of the last 100 episodes at each twentieth of the run.

    python bench/peers/rl.py [STEPS [SEED]]
    veldt train recipes/cartpole.toml --threads 1 --set train.steps=STEPS --set train.seed=SEED
"""
import sys
import time

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
torch.set_num_threads(1)


class Curve(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_end(self):
        if self.model.ep_info_buffer:
            returns = [episode["r"] for episode in self.model.ep_info_buffer]
            print(f"step {self.num_timesteps}  train return {np.mean(returns):.1f}", flush=True)


model = PPO(
    "MlpPolicy", make_vec_env("CartPole-v1", n_envs=8, seed=SEED), seed=SEED, device="cpu",
    learning_rate=lambda left: 1e-3 * left, n_steps=128, batch_size=256, n_epochs=8, gamma=0.99, gae_lambda=0.95,
    clip_range=0.2, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5,
)
began = time.perf_counter()
model.learn(STEPS, callback=Curve())
seconds = time.perf_counter() - began
print(f"{model.num_timesteps} steps in {seconds:.1f} s: {model.num_timesteps / seconds:.0f} steps a second")
