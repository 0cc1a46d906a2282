#!/usr/bin/env python3
"""The steps of bench/field.cpp in PyTorch, eager, on as many threads as there are cores.

usage: field.py      (needs torch)
"""
import os
import statistics
import time

import torch


class Field(torch.nn.Module):
    def __init__(self, sizes, activation):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.activation = activation

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


def sine(x):
    return torch.sin(30.0 * x)


def train_step(name, sizes, batch, activation=sine, seconds=5.0):
    torch.manual_seed(1)
    net = Field(sizes, activation)
    adam = torch.optim.Adam(net.parameters(), lr=1e-4)
    x, y = torch.rand(batch, sizes[0]) * 2 - 1, torch.rand(batch, sizes[-1]) * 2 - 1
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        loss = torch.nn.functional.mse_loss(net(x), y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        loss.item()
        times.append(time.perf_counter() - start)
    print(f"{name:12} {1e3 * statistics.median(times):8.2f} ms  (median of {len(times)})")


torch.set_num_threads(os.cpu_count())
print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
train_step("seed_net", [2, 128, 128, 256, 128, 64, 64, 64, 1], 40000, torch.tanh)
train_step("cub", [2, 128, 128, 128, 128, 1], 4096)
train_step("siren_256", [2, 256, 256, 256, 256, 3], 16384)
