#!/usr/bin/env python3
"""The work of bench/xor.cpp elsewhere: XOR 2-4-1 with tanh, batch 4, Adam, one thread; steps a second.

usage: xor.py [VELDT_BENCH]     NumPy, PyTorch (eager, compiled) and LibTorch; with the path of bench_xor,
                                Veldt too, in turn with the others (five rounds, medians)

Needs numpy and torch; LibTorch is the C++ side of the same package, built here with g++.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import torch

torch.set_num_threads(1)
ROUNDS = 5
X = [[0, 0], [0, 1], [1, 0], [1, 1]]
Y = [[0], [1], [1], [0]]


def rate(step, seconds=0.5):
    for _ in range(20):
        step()
    calls, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        step()
        calls += 1
    return calls / spent


def numpy_step():
    rng = np.random.default_rng(1)
    x, y = np.array(X, np.float32), np.array(Y, np.float32)
    p = [rng.uniform(-a, a, s).astype(np.float32) for s, a in (((2, 4), 0.7), ((4,), 0.7), ((4, 1), 0.5), ((1,), 0.5))]
    m, v, t = [np.zeros_like(a) for a in p], [np.zeros_like(a) for a in p], 0

    def step():
        nonlocal t
        t += 1
        h = np.tanh(x @ p[0] + p[1])
        d = h @ p[2] + p[3] - y
        d *= 2 / d.size
        dh = (d @ p[2].T) * (1 - h * h)
        for i, g in enumerate((x.T @ dh, dh.sum(0), h.T @ d, d.sum(0))):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            p[i] -= 0.05 / (1 - 0.9**t) * m[i] / (np.sqrt(v[i] / (1 - 0.999**t)) + 1e-8)

    return step


def torch_step(compiled):
    torch.manual_seed(1)
    x, y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    adam = torch.optim.Adam(net.parameters(), lr=0.05, fused=True)

    def loss_of():
        return torch.nn.functional.mse_loss(net(x), y)

    loss_of = torch.compile(loss_of) if compiled else loss_of

    def step():
        adam.zero_grad()
        loss_of().backward()
        adam.step()

    return step


def build_libtorch(folder):
    here = os.path.dirname(os.path.abspath(__file__))
    root, out = os.path.dirname(torch.__file__), os.path.join(folder, "xor_libtorch")
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    subprocess.run(
        ["g++", "-O2", "-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", os.path.join(here, "xor_libtorch.cpp"), "-o", out]
        + [f"-I{root}/include", f"-I{root}/include/torch/csrc/api/include", f"-L{root}/lib", f"-Wl,-rpath,{root}/lib"]
        + ["-ltorch", "-ltorch_cpu", "-lc10"],
        check=True,
    )
    return out


runs = {"NumPy": lambda: rate(numpy_step()), "PyTorch eager": lambda: rate(torch_step(False))}
runs["PyTorch compiled"] = lambda: rate(torch_step(True))
folder = tempfile.TemporaryDirectory()
program = build_libtorch(folder.name)
runs["LibTorch"] = lambda: float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
if len(sys.argv) > 1:
    veldt = {}

    def veldt_rate(key):
        if key == "eager_steps_per_s":
            veldt.update(json.loads(subprocess.run([sys.argv[1], "--json"], check=True, capture_output=True).stdout))
        return veldt[key]

    runs["Veldt eager"] = lambda: veldt_rate("eager_steps_per_s")
    runs["Veldt Plan"] = lambda: veldt_rate("plan_steps_per_s")

rates = {name: [] for name in runs}
for _ in range(ROUNDS):
    for name, run in runs.items():
        rates[name].append(run())
print(f"PyTorch {torch.__version__}, NumPy {np.__version__}, one thread, median of {ROUNDS} rounds")
for name, found in rates.items():
    print(f"{name:18} {statistics.median(found):12,.0f} steps/s   ({min(found):,.0f} to {max(found):,.0f})")
