#!/usr/bin/env python3
"""stable-baselines3 beside Veldt: the environments, networks and settings of a recipe, one thread each.

    python bench/peers/rl.py ppo STEPS [SEED..]     CartPole-v1, recipes/cartpole.toml
    python bench/peers/rl.py dqn STEPS [SEED..]     CartPole-v1, recipes/cartpole_dqn.toml with agent.double=false
    python bench/peers/rl.py curves OUT.svg STEPS   both kinds of agents by both programs, seeds 1 to 5, drawn

The first two print a line "seed,step,return" whenever there is a new mean of the last 100 episodes of training,
and at the end steps a second, by the clock and of processor time. The last looks for Veldt in $VELDT, or takes
build/release/bin/veldt; it keeps all numbers beside the picture, in OUT.csv, and goes on where that ends.
"""
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time

STEPS_A_POINT = 5120  # whole rounds of both kinds of agents
SEEDS = [1, 2, 3, 4, 5]
VELDT = {"ppo": ["recipes/cartpole.toml"],
         "dqn": ["recipes/cartpole_dqn.toml", "--set", "agent.double=false", "--set", "train.goal=1000"]}


def processor_seconds():
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def model_of(kind, steps, seed):
    import torch
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    if kind == "ppo":
        return PPO(
            "MlpPolicy", make_vec_env("CartPole-v1", n_envs=8, seed=seed), seed=seed, device="cpu",
            learning_rate=lambda left: 1e-3 * left, n_steps=128, batch_size=256, n_epochs=8, gamma=0.99,
            gae_lambda=0.95, clip_range=0.2, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5)
    return DQN(
        "MlpPolicy", make_vec_env("CartPole-v1", n_envs=4, seed=seed), seed=seed, device="cpu",
        learning_rate=lambda left: 2.3e-3 * left, buffer_size=100_000, learning_starts=1000, batch_size=64,
        tau=1.0, gamma=0.99, train_freq=64, gradient_steps=128, target_update_interval=128,
        exploration_fraction=0.16, exploration_initial_eps=1.0, exploration_final_eps=0.04, max_grad_norm=10,
        policy_kwargs={"net_arch": [256, 256]})


def learn(kind, steps, seed):
    """Points (step, mean return of the last 100 episodes), seconds, processor seconds."""
    from stable_baselines3.common.callbacks import BaseCallback

    points = []

    class Curve(BaseCallback):
        def _on_step(self):
            return True

        def _on_rollout_end(self):
            due = len(points) + 1
            if self.num_timesteps >= due * STEPS_A_POINT and self.model.ep_info_buffer:
                returns = [episode["r"] for episode in self.model.ep_info_buffer]
                points.append((self.num_timesteps, sum(returns) / len(returns)))

    model = model_of(kind, steps, seed)
    began, began_work = time.perf_counter(), processor_seconds()
    model.learn(steps, callback=Curve())
    return points, time.perf_counter() - began, processor_seconds() - began_work


def learn_by_veldt(kind, steps, seed):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [os.environ.get("VELDT", "build/release/bin/veldt"), "train", *VELDT[kind], "--threads", "1", "--quiet",
             "--out", folder + "/run", "--set", f"train.steps={steps}", "--set", f"train.seed={seed}", "--set",
             f"train.evaluate_every={STEPS_A_POINT}", "--set", "train.episodes=1"],
            check=True, stdout=subprocess.DEVNULL)
        with open(folder + "/run/metrics.csv") as file:
            return [(int(row["step"]), float(row["train_return"])) for row in csv.DictReader(file)
                    if int(row["step"]) % STEPS_A_POINT == 0]


def mean_and_deviation(values):
    mean = sum(values) / len(values)
    return mean, (sum((v - mean)**2 for v in values) / len(values))**0.5


def panel(rows, kind, left, width, height):
    """Means as lines, deviations over seeds as bands."""
    colours = {"Veldt": "#2266cc", "stable-baselines3": "#cc6622"}
    own = [row for row in rows if row["agent"] == kind]
    most = max(int(row["step"]) for row in own)
    x = lambda step: left + 50 + (width - 70) * step / most
    y = lambda value: height - 40 - (height - 90) * value / 500
    out = [f'<text x="{left + width / 2}" y="24" text-anchor="middle" font-weight="bold">CartPole-v1, '
           f'{kind.upper()}</text>']
    for value in (0, 100, 200, 300, 400, 500):
        out.append(f'<path d="M{x(0):.1f} {y(value):.1f}H{x(most):.1f}" stroke="#ddd"/>'
                   f'<text x="{x(0) - 6:.1f}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    for step in range(0, most + 1, 20_000):
        out.append(f'<text x="{x(step):.1f}" y="{height - 22}" text-anchor="middle">{step // 1000}k</text>')
    out.append(f'<text x="{left + width / 2}" y="{height - 5}" text-anchor="middle">steps</text>')
    for at, (program, colour) in enumerate(colours.items()):
        by_step = {}
        for row in own:
            if row["program"] == program:
                by_step.setdefault(int(row["step"]), []).append(float(row["return"]))
        seeds = max(len(values) for values in by_step.values())
        curve = [(step, *mean_and_deviation(values)) for step, values in sorted(by_step.items())
                 if len(values) == seeds]
        upper = [f"{x(s):.1f} {y(min(500, m + d)):.1f}" for s, m, d in curve]
        lower = [f"{x(s):.1f} {y(max(0, m - d)):.1f}" for s, m, d in reversed(curve)]
        line = [f"{x(s):.1f} {y(m):.1f}" for s, m, _ in curve]
        out.append(f'<path d="M{"L".join(upper + lower)}Z" fill="{colour}" fill-opacity="0.18"/>'
                   f'<path d="M{"L".join(line)}" fill="none" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{x(0) + 10:.1f}" y="{y(470) + 18 * at:.1f}" fill="{colour}">{program}, {seeds} seeds'
                   '</text>')
    return out


def draw(path, rows):
    width, height = 960, 340
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           f'font-size="12"><rect width="{width}" height="{height}" fill="#fff"/>']
    kinds = sorted({row["agent"] for row in rows}, reverse=True)
    for at, kind in enumerate(kinds):
        out += panel(rows, kind, at * width / len(kinds), width / len(kinds), height)
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


def curves(path, steps):
    table = os.path.splitext(path)[0] + ".csv"
    columns, rows = ["agent", "program", "seed", "step", "return"], []
    if os.path.exists(table):
        with open(table) as file:
            rows = list(csv.DictReader(file))
    for kind in ("ppo", "dqn"):
        for seed in SEEDS:
            for program in ("Veldt", "stable-baselines3"):
                key = {"agent": kind, "program": program, "seed": str(seed)}
                if any(key.items() <= row.items() for row in rows):
                    continue
                points = learn_by_veldt(kind, steps, seed) if program == "Veldt" else learn(kind, steps, seed)[0]
                rows += [{**key, "step": str(step), "return": f"{value:.2f}"} for step, value in points]
                with open(table, "w") as file:
                    writer = csv.DictWriter(file, columns, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
                print(kind, program, "seed", seed, points[-1], flush=True)
    draw(path, rows)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("ppo", "dqn", "curves"):
        sys.exit(__doc__)
    if sys.argv[1] == "curves":
        return curves(sys.argv[2], int(sys.argv[3]))
    kind, steps = sys.argv[1], int(sys.argv[2])
    for seed in [int(text) for text in sys.argv[3:]] or [1]:
        points, seconds, work = learn(kind, steps, seed)
        for step, value in points:
            print(f"{seed},{step},{value:.1f}")
        taken = points[-1][0]  # whole rounds
        print(f"seed {seed}: {taken} steps in {seconds:.1f} s: {taken / seconds:.0f} steps a second, "
              f"{taken / work:.0f} a second of processor time", flush=True)


main()
