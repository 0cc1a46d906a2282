#!/usr/bin/env python3
"""Writes nn.json: what PyTorch says that layers, losses and initialisers are.

Run with a Python that has torch:  python tests/golden/nn.py
All numbers are computed in float64, so that the reference has no rounding of its own.
"""
import json
import math
import pathlib

import torch
from torch import nn

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)


def tensor(t):
    return {"shape": list(t.shape), "values": t.detach().flatten().tolist()}


def mlp():
    """Forward and gradients of three layers under two losses."""
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Softplus(), nn.Linear(4, 2))
    x = torch.rand(6, 3) * 2 - 1
    y = (torch.rand(6, 2) > 0.5).double()
    out = {"x": tensor(x), "y": tensor(y), "output": tensor(model(x))}
    out["parameters"] = {name: tensor(p) for name, p in model.state_dict().items()}
    for name, loss in (("mse", nn.MSELoss()), ("bce", nn.BCEWithLogitsLoss())):
        model.zero_grad()
        value = loss(model(x), y)
        value.backward()
        gradients = {n: tensor(p.grad) for n, p in model.named_parameters()}
        out[name] = {"loss": value.item(), "gradients": gradients}
    return out


def losses():
    """Values and gradients where it is easy to go wrong: large logits, targets passed, equality."""
    prediction = torch.tensor([-800.0, -30, -2, -1, -0.5, 0, 0.5, 1, 1.5, 30, 800], requires_grad=True)
    probability = torch.tensor([0.0, 1, 0.25, 0, 1, 0.5, 1, 1, 0, 1, 0])
    sign = torch.tensor([-1.0, 1, -1, 1, -1, 1, 1, -1, 1, 1, -1])
    cases = {
        "mse": (probability, lambda p, t: nn.functional.mse_loss(p, t)),
        "l1": (probability, lambda p, t: nn.functional.l1_loss(p, t)),
        "bce_with_logits": (probability, lambda p, t: nn.functional.binary_cross_entropy_with_logits(p, t)),
        "hinge_mse": (sign, lambda p, t: torch.where(t * p >= 1, 0.0, p - t).square().mean()),
    }
    out = {}
    for name, (target, function) in cases.items():
        value = function(prediction, target)
        (gradient,) = torch.autograd.grad(value, prediction)
        out[name] = {"prediction": tensor(prediction), "target": tensor(target),
                     "loss": value.item(), "gradient": tensor(gradient)}
    return out


def init():
    """Bounds and deviations of 2^20 draws of torch.nn.init; SIREN's are the repository's (vsitzmann/siren)."""
    shape = (1024, 1024)
    w = torch.empty(shape)
    omega = 30
    siren_hidden = math.sqrt(6 / shape[1]) / omega
    fill = {
        "xavier_uniform": lambda: nn.init.xavier_uniform_(w),
        "xavier_normal": lambda: nn.init.xavier_normal_(w),
        "kaiming_uniform": lambda: nn.init.kaiming_uniform_(w),
        "kaiming_normal": lambda: nn.init.kaiming_normal_(w),
        "siren_first": lambda: w.uniform_(-1 / shape[1], 1 / shape[1]),
        "siren_hidden": lambda: w.uniform_(-siren_hidden, siren_hidden),
        "linear_weight": lambda: w.copy_(nn.Linear(shape[1], shape[0]).weight),
    }
    out = {"shape": list(shape), "omega": omega, "initialisers": {}}
    with torch.no_grad():
        for name, function in fill.items():
            function()
            out["initialisers"][name] = {"max": w.abs().max().item(), "deviation": w.std().item()}
    bias = torch.cat([nn.Linear(shape[1], 1024).bias for _ in range(64)])
    out["initialisers"]["linear_bias"] = {"max": bias.abs().max().item(), "deviation": bias.std().item()}
    return out


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.Linear(4, 4, bias=False)
        self.register_buffer("scale", torch.ones(3))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
        self.layers = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(4, 1)


def names():
    net = Net()
    return {"state": list(net.state_dict()), "parameters": [name for name, _ in net.named_parameters()]}


path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"torch": torch.__version__, "mlp": mlp(), "losses": losses(), "init": init(),
                            "names": names()}, indent=1) + "\n")
