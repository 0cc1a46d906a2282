#!/usr/bin/env python3
"""Writes norm.json: what PyTorch says that normalising layers give, their gradients, and their running statistics.

Run with a Python that has torch:  python tests/golden/norm.py
Each case has a layer's arguments, its state before and after a call, an input, the output, and the gradients of
(output * weights).sum(), where weight i is 0.5 + 0.1 (i % 7). All is computed in float64; inputs have few digits, so
that the file stays small.
"""
import json
import pathlib

import torch
from torch import nn

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)


def tensor(t):
    return {"shape": list(t.shape), "values": [float(f"{v:.14g}") for v in t.detach().flatten().tolist()]}


def coarse(t):
    return (t * 256).round() / 256


def state_of(layer):
    return {n: tensor(p) for n, p in layer.state_dict().items()}


def case(layer, *shape, evaluate=False, batches=3):
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(coarse(torch.rand(p.shape) * 2 - 0.5))
        if getattr(layer, "running_mean", None) is not None:
            layer.running_mean.copy_(coarse(torch.rand(layer.running_mean.shape)))
            layer.running_var.copy_(coarse(torch.rand(layer.running_var.shape) + 0.5))
            layer.num_batches_tracked.fill_(batches)
    layer.train(not evaluate)
    before = state_of(layer)
    x = coarse(torch.rand(*shape) * 4 - 1).requires_grad_()
    y = layer(x)
    (y * (0.5 + 0.1 * (torch.arange(y.numel()) % 7)).reshape(y.shape)).sum().backward()
    numbers = ["num_features", "num_groups", "num_channels", "normalized_shape", "eps", "momentum", "affine",
               "elementwise_affine", "track_running_stats"]
    options = {n: getattr(layer, n) for n in numbers if hasattr(layer, n)}
    options["bias"] = getattr(layer, "bias", None) is not None
    return {"layer": type(layer).__name__, "options": options, "evaluate": evaluate, "x": tensor(x),
            "output": tensor(y), "before": before, "after": state_of(layer),
            "gradients": {"x": tensor(x.grad)} | {n: tensor(p.grad) for n, p in layer.named_parameters()}}


cases = [
    case(nn.BatchNorm1d(3), 4, 3),
    case(nn.BatchNorm1d(2, momentum=None), 3, 2, 4),
    case(nn.BatchNorm1d(2), 3, 2, 4, evaluate=True),
    case(nn.BatchNorm2d(3, eps=0.01, momentum=0.25), 2, 3, 3, 2),
    case(nn.BatchNorm2d(2, affine=False, track_running_stats=False), 2, 2, 2, 3, evaluate=True),
    case(nn.BatchNorm2d(2), 1, 2, 2, 3, evaluate=True),
    case(nn.BatchNorm3d(2), 2, 2, 2, 1, 3),
    case(nn.InstanceNorm1d(2), 3, 2, 4),
    case(nn.InstanceNorm1d(2, affine=True), 2, 5),
    case(nn.InstanceNorm2d(2, affine=True, track_running_stats=True), 3, 2, 2, 3),
    case(nn.InstanceNorm2d(2, affine=True, track_running_stats=True), 2, 2, 2, 2, evaluate=True),
    case(nn.InstanceNorm3d(2, eps=0.1), 1, 2, 2, 2, 2),
    case(nn.LayerNorm(5), 3, 5),
    case(nn.LayerNorm((2, 3), eps=0.01, bias=False), 2, 2, 2, 3),
    case(nn.LayerNorm(4, elementwise_affine=False), 4),
    case(nn.GroupNorm(2, 4), 2, 4, 3),
    case(nn.GroupNorm(3, 3, eps=0.1, affine=False), 2, 3, 2, 2),
    case(nn.GroupNorm(1, 4), 2, 4),
    case(nn.RMSNorm(4, eps=0.01), 2, 3, 4),
    case(nn.RMSNorm((2, 3)), 2, 2, 3),
]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")
