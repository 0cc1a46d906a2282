#!/usr/bin/env python3
"""Writes optim.json: 50 steps of PyTorch's optimizers on a small layer, clipped gradients and rate schedules.

Run with a Python that has torch:  python tests/golden/optim.py
All numbers are computed in float64, so that the reference has no rounding of its own.
"""
import json
import pathlib

import torch

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)

STEPS = 50
KEPT = (1, 2, 10, 50)  # the steps after which the parameters are written down
weight, bias = torch.rand(3, 5) - 0.5, torch.rand(3) - 0.5
x, y = torch.rand(7, 5) * 2 - 1, torch.rand(7, 3) * 2 - 1

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02),
    "adam_fields": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.9, 0.99), eps=1e-15),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.02, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1),
}


def tensor(t):
    return {"shape": list(t.shape), "values": t.detach().flatten().tolist()}


def leaves():
    return weight.clone().requires_grad_(), bias.clone().requires_grad_()


def loss_of(w, b):
    return torch.tanh(x @ w.T + b).sub(y).square().mean()


def trajectory(make):
    w, b = leaves()
    optimizer = make([w, b])
    out = []
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_of(w, b).backward()
        optimizer.step()
        if step in KEPT:
            out.append({"step": step, "weight": tensor(w), "bias": tensor(b)})
    return out


def clipping():
    w, b = leaves()
    (10 * loss_of(w, b)).backward()
    norm = torch.nn.utils.clip_grad_norm_([w, b], 0.5)
    return {"scale": 10, "max_norm": 0.5, "norm": norm.item(), "weight": tensor(w.grad), "bias": tensor(b.grad)}


def rates(make, steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = make(optimizer)
    out = []
    for _ in range(steps):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return out


def schedules():
    from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
    cosine = lambda o: CosineAnnealingLR(o, T_max=30 + 10, eta_min=0.001)  # epochs 30, epoch_offset 10
    warmup = lambda o: SequentialLR(o, [LinearLR(o, start_factor=1 / 6, total_iters=5),
                                        CosineAnnealingLR(o, T_max=20, eta_min=0.001)], milestones=[5])
    return {"cosine": rates(cosine, 31), "warmup": rates(warmup, 25)}


path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({
    "torch": torch.__version__, "weight": tensor(weight), "bias": tensor(bias), "x": tensor(x), "y": tensor(y),
    "trajectories": {name: trajectory(make) for name, make in OPTIMIZERS.items()},
    "clipping": clipping(), "schedules": schedules()}, indent=1) + "\n")
