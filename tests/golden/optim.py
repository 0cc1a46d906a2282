#!/usr/bin/env python3
"""Writes optim.json: 50 steps of optimizers on a small layer, clipped gradients and rate schedules.

They are PyTorch's, but for Lion and Adan, which are written here after their papers with NumPy.

Run with a Python that has torch:  python tests/golden/optim.py
All numbers are computed in float64, so that the reference has no rounding of its own.
"""
import json
import pathlib

import numpy
import torch

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)

STEPS = 50
KEPT = (1, 2, 10, 50)  # the steps after which the parameters are written down
weight, bias = torch.rand(3, 5) - 0.5, torch.rand(3) - 0.5
x, y = torch.rand(7, 5) * 2 - 1, torch.rand(7, 3) * 2 - 1


class Lion:
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, parameters, lr, beta1=0.9, beta2=0.99, decay=0.0):
        self.parameters, self.lr, self.beta1, self.beta2, self.decay = parameters, lr, beta1, beta2, decay
        self.m = [numpy.zeros(p.shape) for p in parameters]

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    def step(self):
        for i, p in enumerate(self.parameters):
            g, x = p.grad.numpy(), p.detach().numpy()
            c = self.beta1 * self.m[i] + (1 - self.beta1) * g
            x -= self.lr * (numpy.sign(c) + self.decay * x)
            self.m[i] = self.beta2 * self.m[i] + (1 - self.beta2) * g


class Adan(Lion):
    """Xie et al. 2022, algorithm 1 with bias corrections; the paper's betas are 1 minus these."""

    def __init__(self, parameters, lr, betas=(0.98, 0.92, 0.99), eps=1e-8, decay=0.0):
        super().__init__(parameters, lr, decay=decay)
        self.betas, self.eps, self.t = betas, eps, 0
        self.v, self.n = ([numpy.zeros(p.shape) for p in parameters] for _ in range(2))
        self.before = [None for _ in parameters]

    def step(self):
        self.t += 1
        b1, b2, b3 = self.betas
        c1, c2, c3 = (1 - b ** self.t for b in self.betas)
        for i, p in enumerate(self.parameters):
            g, x = p.grad.numpy().copy(), p.detach().numpy()
            d = numpy.zeros(p.shape) if self.before[i] is None else g - self.before[i]
            self.m[i] = b1 * self.m[i] + (1 - b1) * g
            self.v[i] = b2 * self.v[i] + (1 - b2) * d
            self.n[i] = b3 * self.n[i] + (1 - b3) * (g + b2 * d) ** 2
            rate = self.lr / (numpy.sqrt(self.n[i] / c3) + self.eps)
            x -= rate * (self.m[i] / c1 + b2 * self.v[i] / c2)
            x /= 1 + self.lr * self.decay
            self.before[i] = g


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02),
    "adam_fields": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.9, 0.99), eps=1e-15),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.02, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1),
    "adamw_groups": lambda p: torch.optim.AdamW(
        [{"params": p[:1], "weight_decay": 0.2}, {"params": p[1:], "lr": 0.005, "weight_decay": 0}], lr=0.02),
    "radam": lambda p: torch.optim.RAdam(p, lr=0.02),
    "radam_decay": lambda p: torch.optim.RAdam(p, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "rmsprop_momentum": lambda p: torch.optim.RMSprop(p, lr=0.005, alpha=0.9, eps=1e-6, momentum=0.9),
    "rmsprop_centered": lambda p: torch.optim.RMSprop(p, lr=0.01, centered=True, weight_decay=0.05),
    "rmsprop_both": lambda p: torch.optim.RMSprop(p, lr=0.002, centered=True, momentum=0.8),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "adagrad_decay": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.05, weight_decay=0.02,
                                                   initial_accumulator_value=0.1, eps=1e-6),
    "lion": lambda p: Lion(p, lr=0.01),
    "lion_decay": lambda p: Lion(p, lr=0.01, beta1=0.95, beta2=0.98, decay=0.3),
    "adan": lambda p: Adan(p, lr=0.02),
    "adan_decay": lambda p: Adan(p, lr=0.02, betas=(0.9, 0.8, 0.95), eps=1e-6, decay=0.2),
}
LBFGS = {
    "wolfe": dict(lr=1, max_iter=1, max_eval=25, line_search_fn="strong_wolfe"),
    "wolfe_long": dict(lr=1, max_iter=4, history_size=3, line_search_fn="strong_wolfe"),
    "wolfe_far": dict(lr=20, max_iter=2, max_eval=20, history_size=5, line_search_fn="strong_wolfe"),
    "fixed": dict(lr=0.3, max_iter=3, history_size=4),
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


def lbfgs(options):
    """25 steps: the loss before each, the calls of the closure so far, and the parameters after some."""
    w, b = leaves()
    optimizer = torch.optim.LBFGS([w, b], **options)
    calls, losses, kept = 0, [], []

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = loss_of(w, b)
        loss.backward()
        return loss

    for step in range(1, 26):
        losses.append(optimizer.step(closure).item())
        if step in (1, 2, 3, 10, 25):
            kept.append({"step": step, "calls": calls, "weight": tensor(w), "bias": tensor(b)})
    return {"losses": losses, "kept": kept}


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


def make_schedules():
    from torch.optim import lr_scheduler as s
    return {
        "step": lambda o: s.StepLR(o, step_size=7, gamma=0.3),
        "multistep": lambda o: s.MultiStepLR(o, milestones=[3, 10, 10, 22], gamma=0.5),
        "exponential": lambda o: s.ExponentialLR(o, gamma=0.93),
        "polynomial": lambda o: s.PolynomialLR(o, total_iters=25, power=1.7),
        "linear": lambda o: s.LinearLR(o, start_factor=0.25, end_factor=0.75, total_iters=12),
        "restarts": lambda o: s.CosineAnnealingWarmRestarts(o, T_0=5, T_mult=2, eta_min=0.01),
        "restarts_even": lambda o: s.CosineAnnealingWarmRestarts(o, T_0=6, eta_min=0.0),
        "one_cycle": lambda o: s.OneCycleLR(o, max_lr=0.1, total_steps=40, cycle_momentum=False),
        "one_cycle_linear": lambda o: s.OneCycleLR(o, max_lr=0.1, total_steps=40, pct_start=0.25, div_factor=10,
                                                   final_div_factor=100, anneal_strategy="linear",
                                                   cycle_momentum=False),
        "one_cycle_three": lambda o: s.OneCycleLR(o, max_lr=0.1, total_steps=40, three_phase=True,
                                                  cycle_momentum=False),
        "sequence": lambda o: s.SequentialLR(o, [s.LinearLR(o, start_factor=0.1, total_iters=5),
                                                 s.StepLR(o, step_size=4, gamma=0.5),
                                                 s.ExponentialLR(o, gamma=0.9)], milestones=[5, 20]),
        "chained": lambda o: s.ChainedScheduler([s.LinearLR(o, start_factor=0.1, total_iters=5),
                                                 s.ExponentialLR(o, gamma=0.9)]),
    }


SCHEDULES = make_schedules()


def schedules():
    from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
    cosine = lambda o: CosineAnnealingLR(o, T_max=30 + 10, eta_min=0.001)  # steps 30, offset 10
    warmup = lambda o: SequentialLR(o, [LinearLR(o, start_factor=1 / 6, total_iters=5),
                                        CosineAnnealingLR(o, T_max=20, eta_min=0.001)], milestones=[5])
    out = {"cosine": rates(cosine, 31), "warmup": rates(warmup, 25)}
    out |= {name: rates(make, 40) for name, make in SCHEDULES.items()}
    return out


def plateaus():
    """The rates after each of a run of losses."""
    from torch.optim.lr_scheduler import ReduceLROnPlateau
    losses = [1.0, 0.9, 0.89999, 0.95, 0.9, 0.8, 0.85, 0.81, 0.8, 0.79999, 0.82, 0.9, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7,
              0.6, 0.65, 0.65, 0.65, 0.65, 0.65, 0.65, 0.65, 0.65, 0.65, 0.65, 0.65]
    cases = {
        "relative": dict(factor=0.5, patience=1),
        "absolute": dict(factor=0.1, patience=2, threshold=0.05, threshold_mode="abs", min_lr=0.003),
        "cooldown": dict(factor=0.3, patience=1, cooldown=3),
        "max": dict(factor=0.5, patience=2, mode="max", threshold=0.01),
    }
    out = {}
    for name, options in cases.items():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        plateau = ReduceLROnPlateau(optimizer, **options)
        after = []
        for loss in losses:
            plateau.step(loss)
            after.append(optimizer.param_groups[0]["lr"])
        out[name] = after
    return {"losses": losses, "rates": out}


path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({
    "torch": torch.__version__, "weight": tensor(weight), "bias": tensor(bias), "x": tensor(x), "y": tensor(y),
    "trajectories": {name: trajectory(make) for name, make in OPTIMIZERS.items()},
    "lbfgs": {name: lbfgs(options) for name, options in LBFGS.items()},
    "clipping": clipping(), "schedules": schedules(), "plateaus": plateaus()}, indent=1) + "\n")
