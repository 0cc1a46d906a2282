#!/usr/bin/env python3
"""The work of bench/convolution.cpp in PyTorch, in turn with Veldt: forward, and forward and backward, in milliseconds.

usage: convolution.py VELDT_BENCH [ROUNDS [THREADS]]     the path of bench_convolution; 5 rounds, 2 threads. For each
round the fastest call counts, for others on the machine only add to it; of those the median, lowest and highest.

Needs torch.
"""
import json
import statistics
import subprocess
import sys
import time

import torch

rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
threads = sys.argv[3] if len(sys.argv) > 3 else "2"
torch.set_num_threads(int(threads))
CASES = {"lenet_1": (64, 1, 6, 28, 5, 2, False), "lenet_2": (64, 6, 16, 14, 5, 0, True),
         "3x3_64": (16, 64, 64, 32, 3, 1, True)}


def milliseconds(call):
    for _ in range(5):
        call()
    times, end = [], time.perf_counter() + 0.7
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times)


def torch_times():
    out = {}
    for name, (batch, n_in, n_out, size, kernel, padding, by_input) in CASES.items():
        layer = torch.nn.Conv2d(n_in, n_out, kernel, padding=padding)
        x = (torch.rand(batch, n_in, size, size) * 2 - 1).requires_grad_(by_input)
        wanted = [layer.weight, layer.bias] + ([x] if by_input else [])
        seed = torch.ones_like(layer(x).detach())
        with torch.no_grad():
            forward = milliseconds(lambda: layer(x))
        out[name] = {"forward": forward, "step": milliseconds(lambda: torch.autograd.grad(layer(x), wanted, seed))}
    return out


runs = {"Veldt": lambda: json.loads(subprocess.run([sys.argv[1], threads], check=True, capture_output=True).stdout),
        "PyTorch": torch_times}
found = {name: [] for name in runs}
for _ in range(rounds):
    for name, run in runs.items():
        found[name].append(run())
print(f"PyTorch {torch.__version__}, {threads} threads, {rounds} rounds in turn, milliseconds")
for case in CASES:
    for what in ("forward", "step"):
        times = {name: [r[case][what] for r in list_] for name, list_ in found.items()}
        text = "   ".join(f"{name} {statistics.median(t):.3f} ({min(t):.3f} to {max(t):.3f})" for name, t in times.items())
        ratio = statistics.median(times["PyTorch"]) / statistics.median(times["Veldt"])
        print(f"{case:8} {what:8} {text}   PyTorch : Veldt {ratio:.2f}")
